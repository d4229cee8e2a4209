-- Reachable states in which the first record is committed (below the high watermark of a broker that has it)
-- and only one broker has it in its log: one more lost disk, and it is gone.  For three replicas.
SELECT count(*) AS states
FROM states
WHERE (high_watermark_0 > 0 AND log_end_offset_0 > 0
    OR high_watermark_1 > 0 AND log_end_offset_1 > 0
    OR high_watermark_2 > 0 AND log_end_offset_2 > 0)
  AND CAST(log_end_offset_0 > 0 AS INT) + CAST(log_end_offset_1 > 0 AS INT) + CAST(log_end_offset_2 > 0 AS INT) = 1
