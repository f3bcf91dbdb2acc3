//! The ring over real sockets. Where the system has no io_uring there is nothing to test, and the test says so.

use super::*;
use std::io::{Read as _, Write as _};
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;

fn ring() -> Option<Ring> {
    match Ring::new() {
        Ok(ring) => Some(ring),
        Err(error) => {
            println!("skipped: this system has no io_uring: {error}");
            None
        }
    }
}

fn results(ring: &Ring) -> Vec<Option<Result<usize, Errno>>> {
    ring.results().collect()
}

#[test]
fn each_call_of_a_batch_has_its_own_result() {
    let Some(mut ring) = ring() else { return };
    let pairs: Vec<_> = (0..4)
        .map(|_| UnixStream::pair().expect("a pair"))
        .collect();
    (&pairs[1].1).write_all(b"one").expect("written");
    pairs[2]
        .1
        .shutdown(std::net::Shutdown::Write)
        .expect("shut down");
    (&pairs[3].1).write_all(&[7; 100]).expect("written");
    let mut inputs: Vec<Vec<u8>> = (0..4).map(|_| Vec::with_capacity(40)).collect();
    inputs[1].extend_from_slice(b"before ");
    // The room of the last is shorter than what has come.
    inputs[3].reserve_exact(40);
    let room = inputs[3].capacity();
    ring.receive(pairs.iter().map(|pair| pair.0.as_fd()).zip(&mut inputs));
    let wanted = [
        Some(Err(Errno::AGAIN)),
        Some(Ok(3)),
        Some(Ok(0)),
        Some(Ok(room)),
    ];
    assert_eq!(results(&ring), wanted);
    assert_eq!((inputs[0].len(), inputs[2].len()), (0, 0));
    assert_eq!(inputs[1], b"before one");
    assert_eq!(inputs[3], vec![7; room]);
    assert_eq!(inputs[3].capacity(), room, "a receive needs no more memory");
}

#[test]
fn a_send_that_is_not_taken_is_not_waited_for() {
    let Some(mut ring) = ring() else { return };
    let pairs: Vec<_> = (0..3)
        .map(|_| UnixStream::pair().expect("a pair"))
        .collect();
    let (full, broken, well) = (&pairs[0], &pairs[1], &pairs[2]);
    full.0.set_nonblocking(true).expect("non-blocking");
    let mut written = 0;
    while let Ok(count) = (&full.0).write(&[1; 4096]) {
        written += count;
    }
    assert!(written > 0);
    broken
        .1
        .shutdown(std::net::Shutdown::Both)
        .expect("shut down");
    let calls = pairs.iter().map(|pair| (pair.0.as_fd(), &b"hello"[..]));
    ring.send(calls);
    let wanted = [Some(Err(Errno::AGAIN)), Some(Err(Errno::PIPE)), Some(Ok(5))];
    assert_eq!(results(&ring), wanted);
    let mut heard = [0; 5];
    (&well.1).read_exact(&mut heard).expect("heard");
    assert_eq!(&heard, b"hello");
}

#[test]
fn a_long_send_says_how_much_was_taken() {
    let Some(mut ring) = ring() else { return };
    let (here, there) = UnixStream::pair().expect("a pair");
    let bytes = vec![5; 16 << 20];
    ring.send(std::iter::once((here.as_fd(), &bytes[..])));
    let taken = match results(&ring)[..] {
        [Some(Ok(taken))] => taken,
        ref other => panic!("{other:?}"),
    };
    assert!(0 < taken && taken < bytes.len(), "{taken} bytes");
    drop(here);
    let mut heard = Vec::new();
    (&there).read_to_end(&mut heard).expect("heard");
    assert_eq!(heard.len(), taken, "no more came than was said");
}

#[test]
fn as_many_calls_as_a_batch_may_have_go_through_again_and_again() {
    let Some(mut ring) = ring() else { return };
    let pairs: Vec<_> = (0..CALLS_MAX)
        .map(|_| UnixStream::pair().expect("a pair"))
        .collect();
    let mut inputs: Vec<Vec<u8>> = (0..CALLS_MAX).map(|_| Vec::with_capacity(8000)).collect();
    for round in 0..1000_u32 {
        let bytes = round.to_le_bytes();
        ring.send(pairs.iter().map(|pair| (pair.0.as_fd(), &bytes[..])));
        assert!(ring.results().all(|it| it == Some(Ok(4))));
        ring.receive(pairs.iter().map(|pair| pair.1.as_fd()).zip(&mut inputs));
        assert!(ring.results().all(|it| it == Some(Ok(4))));
    }
    let all: Vec<u8> = (0..1000_u32).flat_map(u32::to_le_bytes).collect();
    assert!(inputs.iter().all(|input| *input == all));
    assert!(!ring.is_broken());
}

#[test]
fn calls_that_the_kernel_did_not_take_are_left_to_others() {
    let Some(mut ring) = ring() else { return };
    let (here, there) = UnixStream::pair().expect("a pair");
    (&there).write_all(b"x").expect("written");
    // Another file under the ring's number: the kernel refuses what it is asked of that.
    let other = std::fs::File::open("/dev/null").expect("opened");
    // SAFETY: the number is the ring's, which closes it once.
    #[expect(unsafe_code, reason = "the kernel is made to refuse")]
    let mut number = unsafe { ManuallyDrop::new(OwnedFd::from_raw_fd(ring.ring.as_raw_fd())) };
    rustix::io::dup2(&other, &mut number).expect("put in its place");
    let mut input = Vec::with_capacity(16);
    ring.receive(std::iter::once((here.as_fd(), &mut input)));
    assert_eq!(results(&ring), [None]);
    assert!(ring.is_broken());
    assert!(input.is_empty());
}

/// For Miri, which knows no io_uring: the test is the kernel.
#[test]
fn buffers_grow_by_what_was_written_into_their_room() {
    let mut targets = Targets::default();
    for _ in 0..2 {
        let mut buffers = vec![b"before ".to_vec(), Vec::new(), Vec::new()];
        for buffer in &mut buffers {
            buffer.reserve_exact(20);
        }
        let rooms: Vec<_> = buffers.iter_mut().map(|it| targets.add(it)).collect();
        for (&(room, len), byte) in rooms.iter().zip(b'a'..) {
            assert!(len >= 20);
            // SAFETY: what a kernel does with a room of that length.
            #[expect(unsafe_code, reason = "the test is the kernel")]
            unsafe {
                room.write_bytes(byte, 3);
            }
        }
        // SAFETY: three bytes of each were written.
        #[expect(unsafe_code, reason = "the test is the kernel")]
        unsafe {
            targets.grow(&[3, -11, 2]);
        }
        assert_eq!(buffers, [&b"before aaa"[..], b"", b"cc"]);
    }
}
