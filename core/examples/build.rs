//! Says whether the kqueue shell can run: on the systems that have it, and on Linux over the emulation.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(kqueue)");
    let system = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    let systems = ["freebsd", "netbsd", "openbsd", "dragonfly", "macos", "ios", "tvos", "watchos", "visionos"];
    let emulated = system == "linux" && env::var_os("CARGO_FEATURE_EMULATED_KQUEUE").is_some();
    let width = env::var("CARGO_CFG_TARGET_POINTER_WIDTH").unwrap_or_default();
    if width == "64" && (emulated || systems.contains(&system.as_str())) {
        println!("cargo::rustc-cfg=kqueue");
    }
}
