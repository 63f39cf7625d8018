{# No ORDER BY: with one MariaDB reads and sorts every group. By the forced index they come in its order, and
   reading ends at the limit. #}