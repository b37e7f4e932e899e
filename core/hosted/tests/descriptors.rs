//! The limit of descriptors belongs to the whole process, so this test has one of its own.
#![cfg(unix)]

use evserver_hosted::raise_descriptor_limit;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

#[test]
fn the_soft_limit_becomes_the_hard_one() {
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(64), maximum: before.maximum }).unwrap();
    let raised = raise_descriptor_limit().unwrap();
    assert_eq!(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX), raised);
    if cfg!(target_os = "macos") {
        assert!(raised >= 10_240, "{raised}");
    } else {
        assert_eq!(raised, before.maximum.unwrap_or(u64::MAX));
    }
    assert_eq!(raise_descriptor_limit(), Some(raised), "a second time changes nothing");
}
