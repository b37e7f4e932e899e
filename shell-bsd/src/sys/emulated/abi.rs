//! The names that FreeBSD's `<sys/event.h>` gives, with its values.

use libc::{c_short, c_uint, c_ushort, c_void, uintptr_t};

/// One change or one event, laid out as FreeBSD's `struct kevent` (12 and
/// later). A kevent is identified by the pair of `ident` and `filter`.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct kevent {
    /// A descriptor, a signal number, or any number for timers and user events.
    pub ident: uintptr_t,
    /// One of the `EVFILT_…` constants.
    pub filter: c_short,
    /// `EV_…` flags: actions in a change, conditions in an event.
    pub flags: c_ushort,
    /// Flags of the filter, `NOTE_…`.
    pub fflags: c_uint,
    /// A value of the filter: bytes, milliseconds, a count or an errno.
    pub data: i64,
    /// Handed back unchanged; never looked at.
    pub udata: *mut c_void,
    /// Handed back unchanged; no filter here uses them.
    pub ext: [u64; 4],
}

/// A descriptor can be read without blocking.
pub const EVFILT_READ: i16 = -1;
/// A descriptor can be written to without blocking.
pub const EVFILT_WRITE: i16 = -2;
/// A signal was sent to the process.
pub const EVFILT_SIGNAL: i16 = -6;
/// Time has passed.
pub const EVFILT_TIMER: i16 = -7;
/// Somebody in this process said so ([`NOTE_TRIGGER`]).
pub const EVFILT_USER: i16 = -11;

/// Add the event, or modify it if it is there.
pub const EV_ADD: u16 = 0x0001;
/// Remove the event.
pub const EV_DELETE: u16 = 0x0002;
/// Let the event be returned.
pub const EV_ENABLE: u16 = 0x0004;
/// Keep the event, but do not return it.
pub const EV_DISABLE: u16 = 0x0008;
/// Return the event once, then delete it.
pub const EV_ONESHOT: u16 = 0x0010;
/// Forget the state once the event is returned: report changes, not levels.
pub const EV_CLEAR: u16 = 0x0020;
/// Answer this change with an [`EV_ERROR`] entry, also when it succeeded.
pub const EV_RECEIPT: u16 = 0x0040;
/// Disable the event once it is returned.
pub const EV_DISPATCH: u16 = 0x0080;
/// Leave the `udata` of an existing event as it is.
pub const EV_KEEPUDATA: u16 = 0x0200;
/// The entry answers a change: `data` is its errno, 0 for success.
pub const EV_ERROR: u16 = 0x4000;
/// The end of the stream in the filter's direction. Data may be left.
pub const EV_EOF: u16 = 0x8000;

/// Trigger a user event.
pub const NOTE_TRIGGER: u32 = 0x0100_0000;
/// Ignore the flags of this change.
pub const NOTE_FFNOP: u32 = 0x0000_0000;
/// And the event's flags with those of this change.
pub const NOTE_FFAND: u32 = 0x4000_0000;
/// Or the event's flags with those of this change.
pub const NOTE_FFOR: u32 = 0x8000_0000;
/// Replace the event's flags by those of this change.
pub const NOTE_FFCOPY: u32 = 0xc000_0000;
/// The bits that say what to do with the flags.
pub const NOTE_FFCTRLMASK: u32 = 0xc000_0000;
/// The bits that belong to the user.
pub const NOTE_FFLAGSMASK: u32 = 0x00ff_ffff;

/// A timer's `data` is in seconds.
pub const NOTE_SECONDS: u32 = 0x0001;
/// A timer's `data` is in milliseconds, which is also the default.
pub const NOTE_MSECONDS: u32 = 0x0002;
/// A timer's `data` is in microseconds.
pub const NOTE_USECONDS: u32 = 0x0004;
/// A timer's `data` is in nanoseconds.
pub const NOTE_NSECONDS: u32 = 0x0008;

// The size that the C header gives on a 64-bit system, where ident, data and
// udata are eight bytes each: a field too many or too few shows here.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<kevent>() == 64);
