-- Reachable states in which the first record is committed (below the high watermark of a broker that has it)
-- and only one broker has it in its log: one more lost disk, and it is gone.
SELECT count(*) AS states
FROM states
WHERE ({% for each in replicas %}{{ " OR " if not loop.first }}high_watermark_{{ each }} > 0 AND {{ first_record % each }} > 0{% endfor %})
  AND {% for each in replicas %}{{ " + " if not loop.first }}CAST({{ first_record % each }} > 0 AS INT){% endfor %} = 1
