-- How often two brokers take themselves for the leader at the same time, by distance from the start.  For three replicas.
SELECT depth, count(*) AS states,
       sum(CASE WHEN CAST(leader_0 = 0 AS INT) + CAST(leader_1 = 1 AS INT) + CAST(leader_2 = 2 AS INT) > 1 THEN 1 ELSE 0 END)
         AS with_two_leaders
FROM states
GROUP BY depth
ORDER BY depth
