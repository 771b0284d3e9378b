"""What spark-submit is given: `__main__.py` of this folder, with a pipeline file.

It has a folder of its own, because Python looks for modules first beside the file that it runs,
and would find some of ours in the place of its own.
"""
