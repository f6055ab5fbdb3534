"""What one instruction computes, bit for bit."""
