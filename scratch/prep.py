import sys
from pathlib import Path
from tests.simulator.goldens import record
from tests.simulator import kernel_launches
names=set(sys.argv[1:])
l=tuple(x for x in record.all_launches() if x.name.split()[0] in names)
print(len(l)); record.prepare(Path("build/newgold"), l)
