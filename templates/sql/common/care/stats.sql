{% include "care/stats_looked.sql" %}
