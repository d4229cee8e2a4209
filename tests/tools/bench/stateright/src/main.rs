//! The kip-320 model for Stateright: the same variables, actions and bounds as `model/classic.py` and
//! `model/versions/kip320.py`, so that it counts as many unique states.  Stateright distinguishes states by 64-bit
//! fingerprints.
//!
//! `kip320 REPLICAS LOG_SIZE RECORDS MAX_EPOCH THREADS` prints the count, the depth and the seconds.
//!
//! Replica r is stored as r + 1 and epoch e as e + 1 wherever there may be none (0).  Sets of replicas are bit masks.

use stateright::{Checker, Model, Property};
use std::time::Instant;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State<const R: usize, const L: usize, const E: usize> {
    log_end_offset: [u8; R],
    log_record: [[u8; L]; R],
    log_epoch: [[u8; L]; R],
    high_watermark: [u8; R],
    epoch_of: [u8; R],
    leader_of: [u8; R],
    isr: [u8; R],
    request_leader: [u8; E],
    request_isr: [u8; E],
    quorum_leader: u8,
    quorum_isr: u8,
    next_leader_epoch: u8,
    next_record: u8,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Action {
    ControllerElectLeader(usize),
    ControllerShrinkIsr(usize),
    BecomeLeader(usize, usize),
    LeaderExpandIsr(usize, usize),
    LeaderShrinkIsr(usize, usize),
    LeaderWrite(usize),
    LeaderAdvanceHighWatermark(usize),
    BecomeFollower(usize, usize, usize),
    FollowerFetch(usize, usize),
}
use Action::*;

/// The name of a replica where there may be none.
fn id(replica: usize) -> u8 {
    replica as u8 + 1
}

fn bit(replica: usize) -> u8 {
    1 << replica
}

impl<const R: usize, const L: usize, const E: usize> State<R, L, E> {
    fn is_leader(&self, replica: usize) -> bool {
        self.leader_of[replica] == id(replica)
    }

    fn is_true_leader(&self, leader: usize) -> bool {
        self.quorum_leader == id(leader) && self.is_leader(leader) && self.epoch_of[leader] == self.next_leader_epoch
    }

    fn is_in_leader_epoch(&self, leader: usize, follower: usize) -> bool {
        let acknowledges = self.leader_of[follower] == id(leader);
        self.is_leader(leader) && acknowledges && self.epoch_of[follower] == self.epoch_of[leader]
    }

    fn is_requested(&self, replica: usize, leader: usize, epoch: usize) -> bool {
        let is_sent = self.next_leader_epoch as usize > epoch && self.request_leader[epoch] == id(leader);
        is_sent && self.epoch_of[replica] as usize <= epoch
    }

    fn has_reached_epoch(&self, leader: usize) -> bool {
        let watermark = self.high_watermark[leader];
        watermark == self.log_end_offset[leader]
            || (watermark < self.log_end_offset[leader]
                && self.log_epoch[leader][watermark as usize] + 1 == self.epoch_of[leader])
    }

    fn can_advance(&self, leader: usize) -> bool {
        let watermark = self.high_watermark[leader];
        let has = |each: usize| self.is_in_leader_epoch(leader, each) && self.log_end_offset[each] > watermark;
        watermark < self.log_end_offset[leader] && (0..R).all(|each| self.isr[leader] & bit(each) == 0 || has(each))
    }

    /// One more than the last offset at which both logs have the same entry.
    fn first_non_matching_offset(&self, one: usize, other: usize) -> usize {
        let shared = self.log_end_offset[one].min(self.log_end_offset[other]) as usize;
        let entry = |of: usize, at: usize| (self.log_record[of][at], self.log_epoch[of][at]);
        (0..shared).rev().find(|&at| entry(one, at) == entry(other, at)).map_or(0, |at| at + 1)
    }

    fn send_request(&mut self) {
        let epoch = self.next_leader_epoch as usize;
        self.request_leader[epoch] = self.quorum_leader;
        self.request_isr[epoch] = self.quorum_isr;
        self.next_leader_epoch += 1;
    }

    fn follow(&mut self, replica: usize, leader: usize, epoch: usize) {
        self.epoch_of[replica] = epoch as u8 + 1;
        self.leader_of[replica] = id(leader);
        self.isr[replica] = self.request_isr[epoch];
    }

    fn append(&mut self, replica: usize, record: u8, epoch: u8) {
        let end = self.log_end_offset[replica] as usize;
        self.log_record[replica][end] = record;
        self.log_epoch[replica][end] = epoch;
        self.log_end_offset[replica] += 1;
    }

    fn truncate(&mut self, replica: usize, end: usize) {
        self.log_record[replica][end..].fill(0);
        self.log_epoch[replica][end..].fill(0);
        self.log_end_offset[replica] = end as u8;
        self.high_watermark[replica] = self.high_watermark[replica].min(end as u8);
    }
}

struct Kip320<const R: usize, const L: usize, const E: usize> {
    records: u8,
}

impl<const R: usize, const L: usize, const E: usize> Model for Kip320<R, L, E> {
    type State = State<R, L, E>;
    type Action = Action;

    fn init_states(&self) -> Vec<Self::State> {
        vec![State {
            log_end_offset: [0; R],
            log_record: [[0; L]; R],
            log_epoch: [[0; L]; R],
            high_watermark: [0; R],
            epoch_of: [0; R],
            leader_of: [0; R],
            isr: [0; R],
            request_leader: [0; E],
            request_isr: [0; E],
            quorum_leader: 0,
            quorum_isr: bit(R) - 1,
            next_leader_epoch: 0,
            next_record: 0,
        }]
    }

    fn actions(&self, s: &Self::State, actions: &mut Vec<Action>) {
        let epoch_left = (s.next_leader_epoch as usize) < E;
        for r in 0..R {
            let is_member = s.quorum_isr & bit(r) != 0;
            let leads = s.quorum_leader == id(r);
            let can_write = s.is_leader(r) && s.next_record < self.records && (s.log_end_offset[r] as usize) < L;
            for (enabled, action) in [
                (is_member && !leads && epoch_left, ControllerElectLeader(r)),
                ((is_member || leads) && epoch_left, ControllerShrinkIsr(r)),
                (can_write, LeaderWrite(r)),
                (s.can_advance(r), LeaderAdvanceHighWatermark(r)),
            ] {
                if enabled {
                    actions.push(action);
                }
            }
            actions.extend((0..E).filter(|&e| s.is_requested(r, r, e)).map(|e| BecomeLeader(r, e)));
            for l in (0..R).filter(|&l| l != r) {
                let is_in_isr = s.isr[l] & bit(r) != 0;
                let follows = s.is_in_leader_epoch(l, r);
                let lags = s.log_end_offset[r] < s.log_end_offset[l];
                let reached = s.log_end_offset[r] >= s.high_watermark[l] && s.has_reached_epoch(l);
                for (enabled, action) in [
                    (s.is_true_leader(l) && !is_in_isr && follows && reached, LeaderExpandIsr(l, r)),
                    (s.is_true_leader(l) && is_in_isr && (!follows || lags), LeaderShrinkIsr(l, r)),
                    (follows && lags, FollowerFetch(r, l)),
                ] {
                    if enabled {
                        actions.push(action);
                    }
                }
                let ready = |e: usize| s.is_requested(r, l, e) && s.is_leader(l) && s.epoch_of[l] as usize == e + 1;
                actions.extend((0..E).filter(|&e| ready(e)).map(|e| BecomeFollower(r, l, e)));
            }
        }
    }

    fn next_state(&self, before: &Self::State, action: Action) -> Option<Self::State> {
        let mut s = before.clone();
        match action {
            ControllerElectLeader(r) => {
                s.quorum_leader = id(r);
                s.send_request();
            }
            ControllerShrinkIsr(r) => {
                let leads = s.quorum_leader == id(r);
                let is_last = s.quorum_isr == bit(r);
                s.quorum_isr &= if leads && is_last { bit(r) } else { !bit(r) };
                s.quorum_leader = if leads { 0 } else { s.quorum_leader };
                s.send_request();
            }
            BecomeLeader(r, epoch) => s.follow(r, r, epoch),
            LeaderExpandIsr(l, r) => {
                s.isr[l] |= bit(r);
                s.quorum_isr = s.isr[l];
            }
            LeaderShrinkIsr(l, r) => {
                s.isr[l] &= !bit(r);
                s.quorum_isr = s.isr[l];
            }
            LeaderWrite(r) => {
                s.next_record += 1;
                s.append(r, s.next_record, s.epoch_of[r] - 1);
            }
            LeaderAdvanceHighWatermark(l) => s.high_watermark[l] += 1,
            BecomeFollower(r, l, epoch) => {
                s.truncate(r, s.first_non_matching_offset(l, r));
                s.follow(r, l, epoch);
            }
            FollowerFetch(f, l) => {
                let next = s.log_end_offset[f] as usize;
                s.append(f, s.log_record[l][next], s.log_epoch[l][next]);
                s.high_watermark[f] = s.high_watermark[l].min(s.log_end_offset[f]);
            }
        }
        Some(s)
    }

    /// Without a property Stateright has nothing to look for and stops at once.
    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("nothing is checked", |_, _| true)]
    }
}

fn explore<const R: usize, const L: usize, const E: usize>(records: u8, threads: usize) {
    let started = Instant::now();
    let checker = Kip320::<R, L, E> { records }.checker().threads(threads).spawn_bfs().join();
    let seconds = started.elapsed().as_secs_f64();
    println!("unique={} depth={} seconds={seconds:.3}", checker.unique_state_count(), checker.max_depth());
}

fn main() {
    let given: Vec<usize> = std::env::args().skip(1).map(|each| each.parse().expect("a number")).collect();
    let [replicas, log_size, records, max_epoch, threads] = given[..] else {
        panic!("use: kip320 REPLICAS LOG_SIZE RECORDS MAX_EPOCH THREADS");
    };
    let records = records as u8;
    match (replicas, log_size, max_epoch) {
        (2, 2, 2) => explore::<2, 2, 3>(records, threads),
        (2, 3, 3) => explore::<2, 3, 4>(records, threads),
        (3, 1, 2) => explore::<3, 1, 3>(records, threads),
        (3, 2, 1) => explore::<3, 2, 2>(records, threads),
        (3, 2, 2) => explore::<3, 2, 3>(records, threads),
        (3, 3, 2) => explore::<3, 3, 3>(records, threads),
        (3, 3, 3) => explore::<3, 3, 4>(records, threads),
        _ => println!("this size is not compiled in"),
    }
}
