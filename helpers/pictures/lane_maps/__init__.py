"""Where does each lane of a warp stand? Maps of the 32 lanes side by side, with the way from lane to lane."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
