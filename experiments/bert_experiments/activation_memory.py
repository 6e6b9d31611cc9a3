"""What autograd keeps in memory between the forward pass and the way back."""

from collections import Counter
from collections.abc import Callable, Iterable

from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks


def kept_for_backward(
    forward: Callable[[], Tensor], *, owned: Iterable[Tensor] = ()
) -> dict[tuple[int, ...], int]:
    """Bytes that `forward` leaves for the way back, by the shape of what is kept, largest first.

    A tensor that is kept twice, or seen in two shapes, is counted once. `owned` tensors, the
    weights and the batch, are there anyway and are not counted.
    """
    counted = {tensor.untyped_storage().data_ptr() for tensor in owned}
    sizes: Counter[tuple[int, ...]] = Counter()

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in counted:
            counted.add(storage.data_ptr())
            sizes[tuple(tensor.shape)] += storage.nbytes()
        return tensor

    with saved_tensors_hooks(note, lambda tensor: tensor):
        _result = forward()  # its graph holds what is kept, so that no address is used again
    return dict(sizes.most_common())
