#!/usr/bin/env bash
# Gradescope calls this once, when it builds the image.
set -euo pipefail
apt-get update
apt-get install -y python3 python3-venv bubblewrap
python3 -m venv /autograder/venv
/autograder/venv/bin/pip install -c /autograder/source/course/constraints.txt \
    --extra-index-url https://download.pytorch.org/whl/cpu {{ libraries }}
