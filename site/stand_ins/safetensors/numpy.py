"""Writing a checkpoint."""

from safetensors import safe_open as save_file

__all__ = ["save_file"]
