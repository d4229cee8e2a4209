-- How often two brokers believe that they are leader at the same time, by distance from the start.
SELECT depth, count(*) AS states,
       sum(CASE WHEN {% for each in replicas %}{{ " + " if not loop.first }}CAST({{ leader }}_{{ each }} = {{ each }} AS INT){% endfor %} > 1 THEN 1 ELSE 0 END)
         AS with_two_leaders
FROM states
GROUP BY depth
ORDER BY depth
