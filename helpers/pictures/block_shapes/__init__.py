"""Block shapes compared: what each costs per request, in sectors or in tags, and what it reaches in GFLOPS."""
