"""The console commands. Each loads its module, and torch with it, when it is called: so Ctrl-C is
answered in one line from the beginning."""

import sys
from functools import partial
from importlib import import_module


def start(module: str) -> None:
    try:
        main = import_module(module).main
    except KeyboardInterrupt:
        print("\nstopped: call the same command again", file=sys.stderr)
        sys.exit(130)
    main()


pretrain = partial(start, "bert_paper.pretrain")
fill_mask = partial(start, "bert_paper.fill_mask")
encode = partial(start, "bert_paper.encode")
convert = partial(start, "bert_paper.convert")
finetune = partial(start, "bert_finetuning.finetune")
predict = partial(start, "bert_finetuning.predict")
grade = partial(start, "autograder.untrusted.grade")
