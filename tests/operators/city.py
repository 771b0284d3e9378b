"""A module with operators, as a user would have one."""

from matchwood import operator


@operator("borough", cost=0.002)
def borough(event, location, name):
    return location == name


@operator("people", cost=0.02, binds=("count",))
def people(event, image):
    return [{"count": len(image)}]
