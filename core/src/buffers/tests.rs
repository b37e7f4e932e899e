//! What the indices do.

use super::*;

fn receive<const N: usize>(input: &mut Input<N>, bytes: &[u8]) {
    input.space()[..bytes.len()].copy_from_slice(bytes);
    input.fill(bytes.len());
}

#[test]
fn a_byte_already_searched_is_not_searched_again() {
    let mut buffers = Buffers::<8>::new();
    let input = &mut buffers.input;
    receive(input, b"abc");
    assert_eq!(input.find(b'\n'), None);
    assert_eq!(input.searched, 3);
    receive(input, b"d\n");
    assert_eq!(input.find(b'\n'), Some(4));
    input.consume(5);
    assert!(input.is_empty());
    assert_eq!((input.searched, input.window.start, input.window.end), (0, 0, 0));
}

#[test]
fn the_rest_of_a_line_moves_to_the_front_when_that_is_cheap_or_needed() {
    let mut buffers = Buffers::<8>::new();
    let input = &mut buffers.input;
    receive(input, b"aaaaaabb");
    input.consume(6);
    assert_eq!(input.space().len(), 6, "two bytes moved over six consumed ones");
    receive(input, b"cccccc");
    input.consume(1);
    assert_eq!(input.filled(), b"bcccccc");
    assert_eq!(input.space().len(), 1, "seven bytes moved, since there was no room behind them");
    input.consume(1);
    assert_eq!(input.space().len(), 1, "six bytes stay where they are: there is room behind them");
}

#[test]
fn the_rest_of_a_line_stays_while_it_is_longer_than_what_was_consumed_and_has_room_behind_it() {
    let mut buffers = Buffers::<16>::new();
    let input = &mut buffers.input;
    receive(input, b"aaabbbbb");
    input.consume(3);
    assert_eq!(input.space().len(), 8, "five bytes are not moved over three");
    input.consume(1);
    assert_eq!(input.space().len(), 12, "four are moved over four");
    assert_eq!(input.filled(), b"bbbb");
}

#[test]
fn output_is_all_or_nothing_and_takes_no_more_than_it_has() {
    let mut buffers = Buffers::<8>::new();
    let output = &mut buffers.output;
    assert!(output.append(b"abcdef"));
    assert!(!output.append(b"ghi"));
    output.consume(2);
    assert_eq!(output.pending(), b"cdef");
    assert_eq!(output.room(), 2);
    output.consume(100);
    assert!(output.is_empty());
    assert_eq!(output.room(), 8);
}
