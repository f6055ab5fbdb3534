"""For which sizes does it help? How many times as fast as another kernel each kernel is, by size."""
