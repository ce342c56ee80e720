"""Stage `report`: one page that shows everything, opens offline and needs nothing."""
