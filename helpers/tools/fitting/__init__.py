"""Constants of the time model, fitted to recorded launches, and its errors."""
