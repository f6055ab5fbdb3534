"""Pictures and tables: data in, a Figure or a Table out. Nothing here measures, compiles, launches or reads a file."""
