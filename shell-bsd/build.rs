//! Says once for the whole package whether there is a kqueue to build for.
//!
//! `kqueue` is set where the shell can run, and `emulated` beside it where our own stands in for the system's.

use std::env;

/// The systems with kqueue(2): FreeBSD, NetBSD, OpenBSD, DragonFly, macOS and its kin.
const SYSTEMS: &[&str] =
    &["freebsd", "netbsd", "openbsd", "dragonfly", "macos", "ios", "tvos", "watchos", "visionos"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(kqueue, emulated)");
    let target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let system = target("OS");
    let emulated = system == "linux" && env::var_os("CARGO_FEATURE_EMULATED_KQUEUE").is_some();
    // An event carries a client's 64-bit token in a field that is as wide as a pointer.
    if target("POINTER_WIDTH") == "64" && (emulated || SYSTEMS.contains(&system.as_str())) {
        println!("cargo::rustc-cfg=kqueue");
        if emulated {
            println!("cargo::rustc-cfg=emulated");
        }
    }
}
