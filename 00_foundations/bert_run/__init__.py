"""What every level shares about a run: config, weights, checkpoints, progress, metrics, curve."""
