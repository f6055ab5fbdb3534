"""What the notebooks stand on: compiler, simulator, device, measurement, drawing, exercises and widgets."""
