use super::*;
use crate::NumberedEcho;
use std::boxed::Box;

#[test]
fn size() {
    std::println!("{}", size_of::<Connection<NumberedEcho, Box<Buffers>>>());
    std::println!(
        "state {} aside {} opt echo {}",
        size_of::<State>(),
        size_of::<Aside>(),
        size_of::<Option<NumberedEcho>>()
    );
}
