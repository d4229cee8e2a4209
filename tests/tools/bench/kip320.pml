/* The kip-320 model in Promela, as a peer for measurement: the same variables, actions and bounds as
   model/classic.py and model/versions/kip320.py, so that Spin stores exactly as many states as we count.

   spin -a -DREPLICAS=3 -DLOG_SIZE=2 -DRECORDS=2 -DMAX_EPOCH=2 kip320.pml
   gcc -O2 -DSAFETY -DNOREDUCE -DVECTORSZ=512 -o pan pan.c && ./pan -m1000000 -w26

   What keeps the count equal:
   - one process that stands at one place between actions, each action a d_step, no state in between;
   - scratch variables are hidden, or zero between actions, so they distinguish no states;
   - slots beyond a log's end, and requests that were not sent, are zero;
   - every initial value is in a declaration, so that the first stored state is the initial one.

   Replica r is stored as r + 1 and epoch e as e + 1 wherever there may be none (0).  Sets of replicas are bit
   masks. */

#ifndef REPLICAS
#define REPLICAS 3
#endif
#ifndef LOG_SIZE
#define LOG_SIZE 2
#endif
#ifndef RECORDS
#define RECORDS 2
#endif
#ifndef MAX_EPOCH
#define MAX_EPOCH 2
#endif

#if REPLICAS == 1
#define EACH_REPLICA(A) A(0)
#define EACH_PAIR(A)
#define ALL_REPLICAS(P, x) P(x,0)
#elif REPLICAS == 2
#define EACH_REPLICA(A) A(0) A(1)
#define EACH_PAIR(A) A(0,1) A(1,0)
#define ALL_REPLICAS(P, x) (P(x,0) && P(x,1))
#elif REPLICAS == 3
#define EACH_REPLICA(A) A(0) A(1) A(2)
#define EACH_PAIR(A) A(0,1) A(0,2) A(1,0) A(1,2) A(2,0) A(2,1)
#define ALL_REPLICAS(P, x) (P(x,0) && P(x,1) && P(x,2))
#elif REPLICAS == 4
#define EACH_REPLICA(A) A(0) A(1) A(2) A(3)
#define EACH_PAIR(A) A(0,1) A(0,2) A(0,3) A(1,0) A(1,2) A(1,3) A(2,0) A(2,1) A(2,3) A(3,0) A(3,1) A(3,2)
#define ALL_REPLICAS(P, x) (P(x,0) && P(x,1) && P(x,2) && P(x,3))
#else
#error "REPLICAS must be from 1 to 4"
#endif

#if MAX_EPOCH == 0
#define EACH_EPOCH(A, r, l) A(r,l,0)
#elif MAX_EPOCH == 1
#define EACH_EPOCH(A, r, l) A(r,l,0) A(r,l,1)
#elif MAX_EPOCH == 2
#define EACH_EPOCH(A, r, l) A(r,l,0) A(r,l,1) A(r,l,2)
#elif MAX_EPOCH == 3
#define EACH_EPOCH(A, r, l) A(r,l,0) A(r,l,1) A(r,l,2) A(r,l,3)
#elif MAX_EPOCH == 4
#define EACH_EPOCH(A, r, l) A(r,l,0) A(r,l,1) A(r,l,2) A(r,l,3) A(r,l,4)
#else
#error "MAX_EPOCH must be from 0 to 4"
#endif

#define SLOTS (REPLICAS * LOG_SIZE)
#define EPOCHS (MAX_EPOCH + 1)
#define EVERYONE ((1 << REPLICAS) - 1)
#define SLOT(r, offset) ((r) * LOG_SIZE + (offset))

/* what a broker has and believes */
byte log_end_offset[REPLICAS];
byte log_record[SLOTS];
byte log_epoch[SLOTS];
byte high_watermark[REPLICAS];
byte epoch_of[REPLICAS];
byte leader_of[REPLICAS];
byte isr[REPLICAS];

/* what the controller knows and has sent: at most one request per epoch */
byte request_leader[EPOCHS];
byte request_isr[EPOCHS];
byte quorum_leader;
byte quorum_isr = EVERYONE;
byte next_leader_epoch;
byte next_record;

/* Scratch.  Breadth-first Spin refuses hidden variables, so they are zero again at the end of each action. */
#ifdef BREADTH_FIRST
#define SCRATCH byte
#else
#define SCRATCH hidden byte
#endif
SCRATCH offset;
SCRATCH new_end;

#define IS_LEADER(l) (leader_of[l] == (l) + 1)
#define IS_IN(mask, r) (((mask) >> (r)) & 1)
#define EPOCH_LEFT (next_leader_epoch <= MAX_EPOCH)
#define IS_TRUE_LEADER(l) (quorum_leader == (l) + 1 && IS_LEADER(l) && epoch_of[l] == next_leader_epoch)
#define IS_IN_LEADER_EPOCH(l, r) (IS_LEADER(l) && leader_of[r] == (l) + 1 && epoch_of[r] == epoch_of[l])
#define HAS_REACHED_EPOCH(l) \
    (high_watermark[l] == log_end_offset[l] || \
     (high_watermark[l] < log_end_offset[l] && log_epoch[SLOT(l, high_watermark[l])] + 1 == epoch_of[l]))
#define COUNTS_FOR_WATERMARK(l, r) \
    (!IS_IN(isr[l], r) || (IS_IN_LEADER_EPOCH(l, r) && log_end_offset[r] > high_watermark[l]))
#define IS_REQUESTED(r, l, e) (next_leader_epoch > (e) && request_leader[e] == (l) + 1 && epoch_of[r] < (e) + 1)

#define SEND_REQUEST \
    request_leader[next_leader_epoch] = quorum_leader; \
    request_isr[next_leader_epoch] = quorum_isr; \
    next_leader_epoch++

#define FOLLOW(r, l, e) \
    epoch_of[r] = (e) + 1; \
    leader_of[r] = (l) + 1; \
    isr[r] = request_isr[e]

#define CONTROLLER_ELECT_LEADER(r) \
    :: d_step { (IS_IN(quorum_isr, r) && quorum_leader != (r) + 1 && EPOCH_LEFT) -> \
        quorum_leader = (r) + 1; \
        SEND_REQUEST }

/* The leader itself stays in the ISR if it is the last member. */
#define CONTROLLER_SHRINK_ISR(r) \
    :: d_step { ((quorum_leader == (r) + 1 || IS_IN(quorum_isr, r)) && EPOCH_LEFT) -> \
        quorum_isr = ((quorum_leader == (r) + 1 && quorum_isr == (1 << (r))) -> quorum_isr : \
                      (quorum_isr & (EVERYONE - (1 << (r))))); \
        quorum_leader = (quorum_leader == (r) + 1 -> 0 : quorum_leader); \
        SEND_REQUEST }

#define BECOME_LEADER_IN(r, unused, e) \
    :: d_step { IS_REQUESTED(r, r, e) -> FOLLOW(r, r, e) }
#define BECOME_LEADER(r) EACH_EPOCH(BECOME_LEADER_IN, r, 0)

#define LEADER_EXPAND_ISR(l, r) \
    :: d_step { (IS_TRUE_LEADER(l) && !IS_IN(isr[l], r) && IS_IN_LEADER_EPOCH(l, r) && \
                 log_end_offset[r] >= high_watermark[l] && HAS_REACHED_EPOCH(l)) -> \
        isr[l] = isr[l] | (1 << (r)); \
        quorum_isr = isr[l] }

#define LEADER_SHRINK_ISR(l, r) \
    :: d_step { (IS_TRUE_LEADER(l) && IS_IN(isr[l], r) && \
                 (!IS_IN_LEADER_EPOCH(l, r) || log_end_offset[r] < log_end_offset[l])) -> \
        isr[l] = isr[l] & (EVERYONE - (1 << (r))); \
        quorum_isr = isr[l] }

#define LEADER_WRITE(r) \
    :: d_step { (IS_LEADER(r) && next_record < RECORDS && log_end_offset[r] < LOG_SIZE) -> \
        next_record++; \
        log_record[SLOT(r, log_end_offset[r])] = next_record; \
        log_epoch[SLOT(r, log_end_offset[r])] = epoch_of[r] - 1; \
        log_end_offset[r] = log_end_offset[r] + 1 }

#define LEADER_ADVANCE_HIGH_WATERMARK(l) \
    :: d_step { (high_watermark[l] < log_end_offset[l] && ALL_REPLICAS(COUNTS_FOR_WATERMARK, l)) -> \
        high_watermark[l] = high_watermark[l] + 1 }

/* Truncates to one more than the last offset at which both logs have the same entry. */
#define BECOME_FOLLOWER_IN(r, l, e) \
    :: d_step { (IS_REQUESTED(r, l, e) && IS_LEADER(l) && epoch_of[l] == (e) + 1) -> \
        new_end = (log_end_offset[r] < log_end_offset[l] -> log_end_offset[r] : log_end_offset[l]); \
        do \
        :: (new_end > 0 && (log_record[SLOT(r, new_end - 1)] != log_record[SLOT(l, new_end - 1)] || \
                        log_epoch[SLOT(r, new_end - 1)] != log_epoch[SLOT(l, new_end - 1)])) -> new_end-- \
        :: else -> break \
        od; \
        offset = new_end; \
        do \
        :: offset < LOG_SIZE -> log_record[SLOT(r, offset)] = 0; log_epoch[SLOT(r, offset)] = 0; offset++ \
        :: else -> break \
        od; \
        log_end_offset[r] = new_end; \
        high_watermark[r] = (new_end < high_watermark[r] -> new_end : high_watermark[r]); \
        offset = 0; \
        new_end = 0; \
        FOLLOW(r, l, e) }
#define BECOME_FOLLOWER(r, l) EACH_EPOCH(BECOME_FOLLOWER_IN, r, l)

#define FOLLOWER_FETCH(f, l) \
    :: d_step { (IS_LEADER(l) && leader_of[f] == (l) + 1 && epoch_of[f] == epoch_of[l] && \
                 log_end_offset[f] < log_end_offset[l]) -> \
        log_record[SLOT(f, log_end_offset[f])] = log_record[SLOT(l, log_end_offset[f])]; \
        log_epoch[SLOT(f, log_end_offset[f])] = log_epoch[SLOT(l, log_end_offset[f])]; \
        log_end_offset[f] = log_end_offset[f] + 1; \
        high_watermark[f] = (high_watermark[l] < log_end_offset[f] -> high_watermark[l] : log_end_offset[f]) }

active proctype protocol()
{
end:
    do
    EACH_REPLICA(CONTROLLER_ELECT_LEADER)
    EACH_REPLICA(CONTROLLER_SHRINK_ISR)
    EACH_REPLICA(BECOME_LEADER)
    EACH_PAIR(LEADER_EXPAND_ISR)
    EACH_PAIR(LEADER_SHRINK_ISR)
    EACH_REPLICA(LEADER_WRITE)
    EACH_REPLICA(LEADER_ADVANCE_HIGH_WATERMARK)
    EACH_PAIR(BECOME_FOLLOWER)
    EACH_PAIR(FOLLOWER_FETCH)
    od
}
