//! Where an event came from, as the one number that a poller gives back.

use evserver_core::Token;

/// Where an event came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The timer.
    Timer,
    /// The signals.
    Signals,
    /// A request to stop or to report.
    Stop,
    /// Work from another thread.
    Jobs,
    /// The listener with this number.
    Listener(usize),
    /// A client.
    Client(Token),
}

/// The slot index that no client has: the core's word for "none".
const NOT_A_CLIENT: u64 = u32::MAX as u64;

/// The number of the first listener; smaller ones are the loop's own sources.
const FIRST_LISTENER: u64 = 4;

impl Source {
    /// The number to give to the poller.
    pub const fn to_bits(self) -> u64 {
        let which = match self {
            Self::Client(token) => return token.to_bits(),
            Self::Timer => 0,
            Self::Signals => 1,
            Self::Stop => 2,
            Self::Jobs => 3,
            Self::Listener(number) => FIRST_LISTENER + number as u64,
        };
        which << 32 | NOT_A_CLIENT
    }

    /// What the number stands for that the poller gave back.
    pub const fn from_bits(bits: u64) -> Self {
        if bits & NOT_A_CLIENT != NOT_A_CLIENT {
            return Self::Client(Token::from_bits(bits));
        }
        match bits >> 32 {
            0 => Self::Timer,
            1 => Self::Signals,
            2 => Self::Stop,
            3 => Self::Jobs,
            number => Self::Listener((number - FIRST_LISTENER) as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_back_as_they_went() {
        let clients = [0, 1 << 32, 0xfffe, u64::MAX - 1].map(|bits| Source::Client(Token::from_bits(bits)));
        let others =
            [Source::Timer, Source::Signals, Source::Stop, Source::Jobs, Source::Listener(0), Source::Listener(7)];
        for source in clients.into_iter().chain(others) {
            assert_eq!(Source::from_bits(source.to_bits()), source);
        }
    }
}
