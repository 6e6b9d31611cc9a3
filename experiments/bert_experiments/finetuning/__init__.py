"""Studies of fine-tuning: what stands for a text, the options of training, what learns."""
