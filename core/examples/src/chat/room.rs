//! Who is in the room, and how a line gets to all of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use evserver_core::{Ticket, Token};
use evserver_hosted::Handle;

use super::Chat;

/// Members at a time. Each has at most one line on its way to all others, so there are never more than the square of
/// this many pushes under way.
pub const MEMBERS: usize = 500;

/// The members, on any loop and any thread.
#[derive(Debug, Default)]
pub struct Room {
    members: Mutex<Members>,
}

#[derive(Debug, Default)]
struct Members {
    by_number: HashMap<u64, (Token, Handle<Chat>)>,
    last_number: u64,
}

/// A member's place. It leaves the room when this is dropped, however its connection ended.
#[derive(Debug)]
pub struct Seat {
    room: Arc<Room>,
    number: u64,
}

/// The room is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// A line on its way. When the last member has it, or has been refused it, its sender is told to go on.
struct OnItsWay {
    sender: Option<(Handle<Chat>, Ticket)>,
}

impl Drop for OnItsWay {
    fn drop(&mut self) {
        if let Some((handle, ticket)) = self.sender.take() {
            handle.complete(ticket, |_| {});
        }
    }
}

impl Room {
    /// Enters; the others are told. With the place comes how many others there are.
    ///
    /// # Errors
    /// When there are [`MEMBERS`] already.
    pub fn enter(room: &Arc<Self>, token: Token, handle: &Handle<Chat>) -> Result<(Seat, usize), Full> {
        let mut members = room.members();
        let others = members.by_number.len();
        if others >= MEMBERS {
            return Err(Full);
        }
        members.last_number += 1;
        let number = members.last_number;
        members.say(number, format!("* guest-{number} came\n").as_bytes(), None);
        members.by_number.insert(number, (token, handle.clone()));
        Ok((Seat { room: Arc::clone(room), number }, others))
    }

    /// A thread that panicked with the lock held left whole members all the same.
    fn members(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Members {
    /// To all but one, under the lock: so everybody gets all lines in the same order.
    fn say(&self, from: u64, line: &[u8], sender: Option<(Handle<Chat>, Ticket)>) {
        let line: Arc<[u8]> = line.into();
        let on_its_way = Arc::new(OnItsWay { sender });
        for (&number, (token, handle)) in &self.by_number {
            if number != from {
                let on_its_way = Arc::clone(&on_its_way);
                handle.push_or(*token, Arc::clone(&line), move |_| drop(on_its_way));
            }
        }
    }
}

impl Seat {
    /// The member's number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Says a line to all others. The ticket is completed when all of them have it.
    pub fn say(&self, line: &[u8], handle: &Handle<Chat>, ticket: Ticket) {
        self.room.members().say(self.number, line, Some((handle.clone(), ticket)));
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut members = self.room.members();
        members.by_number.remove(&self.number);
        members.say(self.number, format!("* guest-{} left\n", self.number).as_bytes(), None);
    }
}
