"""The command: `vramspan`, and `python -m vramspan`. The process becomes the command's, so that its id, signals and
exit status are the command's too."""
import os
import sys

from ._files import binary_path


def main():
    os.execv(binary_path(), ["vramspan", *sys.argv[1:]])


if __name__ == "__main__":
    main()
