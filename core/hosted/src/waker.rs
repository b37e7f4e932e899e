//! Waking a loop, or a thread, from another thread.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[cfg(any(not(unix), test))]
mod condvar;
#[cfg(unix)]
mod socket;

#[cfg(not(unix))]
use condvar::Bell;
#[cfg(unix)]
use socket::Bell;

/// Wakes whoever waits on the [`WakeSource`] it was made with; clones wake the same one.
///
/// Many wakes before the source is cleared are one: what there is to do stands elsewhere (a flag, a queue), to be
/// looked at after [`WakeSource::clear`]. Nothing that was put there before a wake is missed, however the two
/// threads run: the wake either makes the source ready again or comes before the clear, and then the look after
/// it sees what was put there.
///
/// ```
/// use std::time::Duration;
///
/// let (waker, source) = evserver_hosted::Waker::pair()?;
/// std::thread::spawn(move || waker.wake());
/// assert!(source.wait(Some(Duration::from_secs(60)))?);
/// source.clear();
/// assert!(!source.wait(Some(Duration::ZERO))?);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Waker {
    shared: Arc<Shared>,
}

/// The end that is woken. On Unix it is a descriptor that is readable from a wake to the clear, for epoll or kqueue.
#[derive(Debug)]
pub struct WakeSource {
    shared: Arc<Shared>,
}

/// Both ends in one place, so that neither is closed while the other is used: a wake never meets a closed socket.
#[derive(Debug)]
struct Shared {
    /// A wake since the last clear: the bell has been rung and need not be rung again.
    pending: AtomicBool,
    bell: Bell,
}

impl Waker {
    /// A waker and what it wakes.
    ///
    /// # Errors
    ///
    /// On Unix those of socketpair(2), such as too many open descriptors; elsewhere none.
    pub fn pair() -> io::Result<(Waker, WakeSource)> {
        let shared = Arc::new(Shared { pending: AtomicBool::new(false), bell: Bell::new()? });
        Ok((Waker { shared: Arc::clone(&shared) }, WakeSource { shared }))
    }

    /// Wakes the source, from any thread and, on Unix, from a signal handler too: it is one atomic exchange and at
    /// most one write(2) of one byte to a non-blocking socket, with no lock and no allocation. The write cannot fail
    /// while both ends live (a socket's buffer holds far more bytes than there are threads), so errno stays as the
    /// interrupted code had it.
    pub fn wake(&self) {
        wake(&self.shared.pending, || self.shared.bell.ring());
    }
}

impl WakeSource {
    /// Takes all wakes up to now; look at what there is to do afterwards, not before.
    pub fn clear(&self) {
        clear(&self.shared.pending, || self.shared.bell.silence());
    }

    /// Blocks until a wake that is not yet cleared, or the timeout; true for a wake. None waits for ever.
    ///
    /// A signal that is handled does not end it, and the timeout is kept over signals; it rounds up to milliseconds.
    ///
    /// # Errors
    ///
    /// On Unix those of poll(2) other than EINTR (no memory); elsewhere none.
    pub fn wait(&self, timeout: Option<Duration>) -> io::Result<bool> {
        self.shared.bell.wait(timeout)
    }
}

/// Rings for the first wake since the last clear.
fn wake(pending: &AtomicBool, ring: impl FnOnce()) {
    // AcqRel: what was stored before is seen by the clear that takes this wake.
    if !pending.swap(true, Ordering::AcqRel) {
        ring();
    }
}

/// First the bell, then the flag. The other way round a wake in between would ring a bell that is then silenced with
/// its flag left standing, and no later wake would ring again. This way round a wake in between does not ring,
/// and the look after the clear sees what it was for.
fn clear(pending: &AtomicBool, silence: impl FnOnce()) {
    silence();
    pending.swap(false, Ordering::AcqRel);
}

#[cfg(unix)]
impl std::os::fd::AsFd for WakeSource {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.shared.bell.as_fd()
    }
}

#[cfg(unix)]
impl std::os::fd::AsRawFd for WakeSource {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        use std::os::fd::AsFd as _;
        self.as_fd().as_raw_fd()
    }
}

#[cfg(test)]
mod tests;
