"""What spark-submit is given: the file `__main__.py` of this folder, with a pipeline file.

It has a folder of its own because Python looks for modules first in the folder of the file that
it runs: beside other modules of this package, those would hide modules of the same name.
"""
