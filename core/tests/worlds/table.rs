//! `Slots` against a map and a sorted list.

use std::collections::BTreeMap;

use evserver_core::{Deadlines, Occupant, Slot, Slots, Time, Token};
use proptest::prelude::*;

use crate::framing::config;

const SEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../proptest-regressions/table.txt");

/// The longest that a deadline may be acted on late: rule 8.
const LATE_MS: u64 = 250;
const IDLE_MS: u32 = 1000;
const LINE_MS: u32 = 700;
const LINGER_MS: u32 = 300;

#[derive(Clone, Debug, PartialEq)]
struct Entry {
    token: Token,
    due: Deadlines,
    draining: bool,
}

impl Occupant for Entry {
    fn named(&mut self, token: Token) {
        self.token = token;
    }

    fn deadlines(&self) -> Deadlines {
        self.due
    }

    fn is_draining(&self) -> bool {
        self.draining
    }

    fn restamp(&mut self, _: Time, _: Time) {}
}

#[derive(Clone, Debug)]
enum Operation {
    Insert,
    Remove(usize),
    /// A byte moved.
    Touch(usize),
    /// A line began, or ended.
    Line(usize, bool),
    Linger(usize),
    /// Waits for an answer so long, or not any more.
    Set(usize, Option<u16>),
    /// The one that is next to be told of the shutdown is told.
    Drain,
    Again(usize),
    NextAgain,
    Advance(u16),
}

fn operation() -> impl Strategy<Value = Operation> {
    let which = 0usize..40;
    prop_oneof![
        4 => Just(Operation::Insert),
        2 => which.clone().prop_map(Operation::Remove),
        6 => which.clone().prop_map(Operation::Touch),
        2 => (which.clone(), any::<bool>()).prop_map(|(which, began)| Operation::Line(which, began)),
        1 => which.clone().prop_map(Operation::Linger),
        2 => (which.clone(), prop::option::of(0u16..40_000)).prop_map(|(which, ms)| Operation::Set(which, ms)),
        1 => Just(Operation::Drain),
        2 => which.clone().prop_map(Operation::Again),
        2 => Just(Operation::NextAgain),
        4 => (0u16..800).prop_map(Operation::Advance),
        1 => (0u16..20_000).prop_map(Operation::Advance),
    ]
}

proptest! {
    #![proptest_config(config(1500, SEEDS))]

    #[test]
    fn it_is_a_map_with_deadlines(operations in prop::collection::vec(operation(), 1..150)) {
        let mut storage: [Slot<Entry>; 24] = std::array::from_fn(|_| Slot::new());
        let mut slots = Slots::new(&mut storage);
        let mut model: BTreeMap<Token, Entry> = BTreeMap::new();
        let mut again: Vec<Token> = Vec::new();
        let mut gone: Vec<Token> = Vec::new();
        let mut now = Time::from_ms(100_000);
        for operation in operations {
            let pick = |which: usize| model.keys().nth(which % model.len().max(1)).copied();
            match operation {
                Operation::Insert => {
                    let due = Deadlines { idle: now.after(IDLE_MS), ..Deadlines::NONE };
                    let entry = Entry { token: Token::default(), due, draining: false };
                    match slots.insert(entry.clone()) {
                        Ok(token) => {
                            prop_assert!(!gone.contains(&token), "a name is used again");
                            let before = model.insert(token, Entry { token, ..entry });
                            prop_assert_eq!(before, None);
                        }
                        Err(full) => {
                            prop_assert_eq!(model.len(), 24);
                            prop_assert_eq!(full.0, entry);
                        }
                    }
                }
                Operation::Remove(which) => if let Some(token) = pick(which) {
                    prop_assert_eq!(slots.remove(token), model.remove(&token));
                    prop_assert_eq!(slots.remove(token), None);
                    again.retain(|&other| other != token);
                    gone.push(token);
                },
                Operation::NextAgain => {
                    let expected = (!again.is_empty()).then(|| again.remove(0));
                    prop_assert_eq!(slots.next_again(), expected);
                }
                Operation::Again(which) => if let Some(token) = pick(which) {
                    slots.run_again(token);
                    if !again.contains(&token) {
                        again.push(token);
                    }
                },
                Operation::Advance(ms) => now = now.after(ms.into()),
                Operation::Drain => match slots.not_draining() {
                    Some(token) => {
                        slots.get_mut(token).unwrap().draining = true;
                        slots.settle(token);
                        model.get_mut(&token).unwrap().draining = true;
                    }
                    None => prop_assert!(model.values().all(|it| it.draining || it.due.linger != Time::NEVER)),
                },
                Operation::Touch(which) | Operation::Line(which, _) | Operation::Linger(which)
                | Operation::Set(which, _) => if let Some(token) = pick(which) {
                    let entry = slots.get_mut(token).unwrap();
                    let due = &mut entry.due;
                    let lingers = due.linger != Time::NEVER;
                    match operation {
                        Operation::Touch(_) if !lingers && due.ticket == Time::NEVER => due.idle = now.after(IDLE_MS),
                        Operation::Line(_, true) if due.line == Time::NEVER && !lingers => due.line = now.after(LINE_MS),
                        Operation::Line(_, false) => due.line = Time::NEVER,
                        Operation::Linger(_) if !lingers => {
                            *due = Deadlines { linger: now.after(LINGER_MS), ..Deadlines::NONE };
                        }
                        Operation::Set(_, Some(ms)) if !lingers => {
                            due.ticket = now.after(ms.into());
                            due.idle = Time::NEVER;
                        }
                        Operation::Set(_, None) if due.ticket != Time::NEVER => {
                            due.ticket = Time::NEVER;
                            due.idle = now.after(IDLE_MS);
                        }
                        _ => {}
                    }
                    let entry = entry.clone();
                    slots.settle(token);
                    model.insert(token, entry);
                },
            }
            for token in &gone {
                prop_assert!(slots.get(*token).is_none(), "an old name finds a new entry");
            }
            for (token, entry) in &model {
                prop_assert_eq!(slots.get(*token), Some(entry));
            }
            prop_assert_eq!(slots.len() as usize, model.len());
            prop_assert_eq!(slots.has_again(), !again.is_empty());

            // Every deadline that is due is named, none that is not, and the next one is foreseen in time.
            while let Some(token) = slots.expired(now) {
                let entry = model.remove(&token).expect("an entry that is not there expired");
                prop_assert!(entry.due.earliest() <= now, "early");
                slots.remove(token);
                again.retain(|&other| other != token);
                gone.push(token);
            }
            let earliest = model.values().map(|entry| entry.due.earliest()).min().unwrap_or(Time::NEVER);
            prop_assert!(now.since_ms(earliest) < LATE_MS, "{:?} at {now:?} was not named", earliest);
            match slots.next_deadline() {
                Some(next) => prop_assert!(next.since_ms(earliest) < LATE_MS && next > now, "{next:?} for {earliest:?}"),
                None => prop_assert_eq!(earliest, Time::NEVER),
            }
        }
    }
}
