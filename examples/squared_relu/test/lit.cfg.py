"""lit configuration; the package and tilewright must be installed."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import lit.formats

if TYPE_CHECKING:  # lit injects it before running this file
    from lit.TestingConfig import TestingConfig

    config: TestingConfig

config.name = "squared_relu"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = {".mlir"}
config.environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
config.environment["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
