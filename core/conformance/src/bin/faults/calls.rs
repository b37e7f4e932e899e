//! Which system calls are made to fail, and how: what their man pages list, and why not all of it is tried.

/// A system call with the errors that are tried and those that are not.
pub struct Call {
    pub name: &'static str,
    pub tried: &'static [&'static str],
    /// Errors that the man page lists too, with the reason why they are not tried.
    pub not: &'static [(&'static str, &'static str)],
}

const MISTAKE: &str = "only a mistake in the program's own arguments gives it, no state of the system";
const UNIX: &str = "it is for Unix sockets that have a path";
const FILES: &str = "it is for files with a path of the user's";
const LIE: &str = "the system gives it only when nothing can move and tells when that changes; the suite has it for real, \
                   by small socket buffers";
const DATAGRAMS: &str = "it is for sockets that are not TCP";

/// A call that is interrupted or would wait is repeated, and always to say so would be a lie: every second one is.
pub fn is_repeated(errno: &str) -> bool {
    matches!(errno, "EINTR" | "EAGAIN")
}

const fn call(
    name: &'static str,
    tried: &'static [&'static str],
    not: &'static [(&'static str, &'static str)],
) -> Call {
    Call { name, tried, not }
}

/// Man pages of section 2, with those errors of tcp(7), ip(7) and socket(7) that they refer to.
pub const CALLS: &[Call] = &[
    // As the BSDs' pages have it: only the kqueue shell makes this call.
    call(
        "accept",
        &["ECONNABORTED", "EINTR", "EMFILE", "ENFILE", "ENOMEM"],
        &[("EAGAIN", LIE), ("EBADF EFAULT EINVAL ENOTSOCK EOPNOTSUPP", MISTAKE)],
    ),
    call(
        "accept4",
        &[
            "ECONNABORTED",
            "EHOSTDOWN",
            "EHOSTUNREACH",
            "EINTR",
            "EMFILE",
            "ENETDOWN",
            "ENETUNREACH",
            "ENFILE",
            "ENOBUFS",
            "ENOMEM",
            "ENONET",
            "ENOPROTOOPT",
            "ENOSR",
            "EOPNOTSUPP",
            "EPERM",
            "EPROTO",
            "EPROTONOSUPPORT",
            "ESOCKTNOSUPPORT",
            "ETIMEDOUT",
        ],
        &[("EAGAIN", LIE), ("EBADF EFAULT EINVAL ENOTSOCK", MISTAKE)],
    ),
    call(
        "bind",
        &["EACCES", "EADDRINUSE", "EADDRNOTAVAIL"],
        &[("EBADF EFAULT EINVAL ENOTSOCK", MISTAKE), ("ELOOP ENAMETOOLONG ENOENT ENOMEM ENOTDIR EROFS", UNIX)],
    ),
    call(
        "clone3",
        &["EAGAIN", "ENOMEM", "EPERM"],
        &[
            ("EACCES EBUSY EEXIST EINVAL EOPNOTSUPP ENOSPC EUSERS", "it is for processes and namespaces"),
            ("ERESTARTNOINTR", "the kernel repeats the call by itself"),
        ],
    ),
    call("epoll_create1", &["EMFILE", "ENFILE", "ENOMEM"], &[("EINVAL", MISTAKE)]),
    call("epoll_ctl", &["ENOMEM", "ENOSPC"], &[("EBADF EEXIST EINVAL ELOOP ENOENT EPERM", MISTAKE)]),
    call("epoll_wait", &["EINTR"], &[("EBADF EFAULT EINVAL", MISTAKE)]),
    call(
        "fcntl",
        &["EINVAL"],
        &[
            ("EBADF", MISTAKE),
            (
                "EACCES EAGAIN EBUSY EDEADLK EFAULT EINTR EMFILE ENOLCK ENOTDIR EPERM",
                "it is for other commands than those made",
            ),
        ],
    ),
    call(
        "fstat",
        &["ENOMEM"],
        &[("EBADF EFAULT EINVAL EOVERFLOW", MISTAKE), ("EACCES ELOOP ENOENT ENOTDIR", FILES)],
    ),
    call(
        "getrandom",
        &["EINTR", "ENOSYS"],
        &[("EAGAIN", "it is for a machine that has just been switched on"), ("EFAULT EINVAL", MISTAKE)],
    ),
    call("getsockname", &["ENOBUFS"], &[("EBADF EFAULT EINVAL ENOTSOCK", MISTAKE)]),
    call("ioctl", &["ENOTTY"], &[("EBADF EFAULT EINVAL", MISTAKE)]),
    call("listen", &["EADDRINUSE"], &[("EBADF ENOTSOCK EOPNOTSUPP", MISTAKE)]),
    call("madvise", &["EAGAIN", "ENOMEM"], &[("EACCES EBADF EINVAL EIO EPERM", MISTAKE)]),
    call(
        "mmap",
        &["EAGAIN", "ENOMEM"],
        &[("EACCES EBADF EEXIST EINVAL ENFILE ENODEV EOVERFLOW EPERM ETXTBSY", MISTAKE)],
    ),
    call("mprotect", &["ENOMEM"], &[("EACCES EINVAL", MISTAKE)]),
    call("munmap", &["ENOMEM"], &[("EINVAL", MISTAKE)]),
    call(
        "open",
        &["EACCES", "EINTR", "EMFILE", "ENFILE", "ENOENT", "ENOMEM", "ENXIO"],
        &[(
            "EBADF EBUSY EDQUOT EEXIST EFAULT EFBIG EINVAL EISDIR ELOOP ENAMETOOLONG ENODEV ENOSPC ENOTDIR EOPNOTSUPP \
             EOVERFLOW EPERM EROFS ETXTBSY EWOULDBLOCK",
            "nothing is created, and only pipes and terminals that are open already are opened anew",
        )],
    ),
    call(
        "openat",
        &["EACCES", "EINTR", "EMFILE", "ENFILE", "ENOENT", "ENOMEM"],
        &[(
            "EBADF EBUSY EDQUOT EEXIST EFAULT EFBIG EINVAL EISDIR ELOOP ENAMETOOLONG ENODEV ENOSPC ENOTDIR ENXIO \
             EOPNOTSUPP EOVERFLOW EPERM EROFS ETXTBSY EWOULDBLOCK",
            "nothing is created, and what is opened is a file of /proc or /sys",
        )],
    ),
    call("poll", &["EINTR", "ENOMEM"], &[("EFAULT EINVAL", MISTAKE)]),
    call("ppoll", &["EINTR", "ENOMEM"], &[("EFAULT EINVAL", MISTAKE)]),
    call(
        "read",
        &["EAGAIN", "EINTR"],
        &[
            ("EBADF EFAULT EINVAL EISDIR", MISTAKE),
            ("EIO", "it is for disks and terminals"),
            ("ECANCELED", "the timer is not one that asks for it"),
        ],
    ),
    call(
        "recvfrom",
        &[
            "ECONNREFUSED",
            "ECONNRESET",
            "EHOSTUNREACH",
            "EINTR",
            "ENETUNREACH",
            "ENOMEM",
            "ENOTCONN",
            "EPIPE",
            "ETIMEDOUT",
        ],
        &[("EAGAIN", LIE), ("EBADF EFAULT EINVAL ENOTSOCK", MISTAKE)],
    ),
    call(
        "sendto",
        &[
            "ECONNRESET",
            "EHOSTUNREACH",
            "EINTR",
            "ENETUNREACH",
            "ENOBUFS",
            "ENOMEM",
            "ENOTCONN",
            "EPERM",
            "EPIPE",
            "ETIMEDOUT",
        ],
        &[
            ("EAGAIN", LIE),
            ("EACCES EALREADY EDESTADDRREQ EISCONN EMSGSIZE", DATAGRAMS),
            ("EBADF EFAULT EINVAL ENOTSOCK EOPNOTSUPP", MISTAKE),
        ],
    ),
    call("setsockopt", &["ENOMEM", "ENOPROTOOPT"], &[("EBADF EFAULT EINVAL ENOTSOCK", MISTAKE)]),
    call("shutdown", &["ENOTCONN"], &[("EBADF EINVAL ENOTSOCK", MISTAKE)]),
    call("signalfd4", &["EMFILE", "ENFILE", "ENODEV", "ENOMEM"], &[("EBADF EINVAL", MISTAKE)]),
    call(
        "socket",
        &["EACCES", "EAFNOSUPPORT", "EMFILE", "ENFILE", "ENOBUFS", "ENOMEM", "EPROTONOSUPPORT"],
        &[("EINVAL", MISTAKE)],
    ),
    call(
        "socketpair",
        &["EMFILE", "ENFILE", "ENOMEM"],
        &[("EAFNOSUPPORT EFAULT EOPNOTSUPP EPROTONOSUPPORT", MISTAKE)],
    ),
    call("timerfd_create", &["EMFILE", "ENFILE", "ENODEV", "ENOMEM"], &[("EINVAL EPERM", MISTAKE)]),
    call(
        "write",
        &["EAGAIN", "EDQUOT", "EFBIG", "EINTR", "EIO", "ENOSPC", "EPERM", "EPIPE"],
        &[("EBADF EDESTADDRREQ EFAULT EINVAL", MISTAKE)],
    ),
];

/// Calls that are made and left alone, with the reason.
pub const LEFT_ALONE: &[(&str, &str)] = &[
    (
        "close",
        "strace lets a call fail by not making it, and then the descriptor stays open, as it does in no kernel; the result is \
         not looked at",
    ),
    (
        "futex",
        "strace cannot tell a wait from a wake: a wake is lost that no kernel loses, and who waits waits again after any error",
    ),
    (
        "brk",
        "where there is no memory the kernel gives the end as it was and no error, which strace cannot; mmap is tried, to which \
         the C library turns then",
    ),
    ("execve exit exit_group", "they are the process's beginning and end"),
    (
        "arch_prctl gettid restart_syscall rseq rt_sigreturn set_robust_list set_tid_address sched_yield",
        "they cannot fail",
    ),
    (
        "prctl rt_sigaction rt_sigprocmask sched_getaffinity sigaltstack timerfd_settime",
        "only a mistake in the program's own arguments makes them fail",
    ),
    ("prlimit64", "the hard limit, which only root may raise, is not raised"),
    ("access newfstatat pread64", "the dynamic loader makes them, before the program"),
    ("statx", "a file of /proc that was opened a moment ago; its size is only a hint"),
];
