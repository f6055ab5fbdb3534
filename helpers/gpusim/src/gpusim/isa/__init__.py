"""PTX and machine code as instructions that the engine executes."""
