//! Many receives, or many sends, in one system call: an io_uring that is used as a list of calls.
//!
//! In:  sockets with buffers, none of which is waited for. Out: what each call came to.
//!
//! With many small requests entering and leaving the kernel for each of them is a fifth of what a loop costs
//! (docs/decisions/0053). Nothing else of io_uring is used: no call outlives the one that gives it, and readiness comes from the poll.
//!
//! The one file of this room with `unsafe`: the kernel is given addresses. What makes that sound:
//! - A call's buffer is borrowed for longer than the batch takes, the receiving ones exclusively, and a batch
//!   does not return before the kernel has completed each call that it was given ([`Ring::complete`]). Every call says
//!   `MSG_DONTWAIT`, so that the kernel completes it at once, and never keeps it until a socket is ready.
//! - Calls that the kernel has not taken are not left in the queue: the ring is ended with them ([`Ring::is_broken`]).
//! - Received bytes count only as far as the kernel says that it wrote them.

use io_uring::{IoUring, opcode, squeue, types};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};

/// Calls of one batch at most.
pub(crate) const CALLS_MAX: usize = 64;

/// What a call came to that the kernel has not completed.
const PENDING: i32 = i32::MIN;

/// See the module.
pub(crate) struct Ring {
    ring: IoUring,
    entries: Vec<squeue::Entry>,
    targets: Targets,
    /// Of the last batch, in its order.
    results: Vec<i32>,
    /// The kernel did not take a batch: nothing goes through the ring any more.
    is_broken: bool,
}

impl Ring {
    /// A ring for the thread that calls, once it has shown that it works.
    ///
    /// # Errors
    /// The system has none, forbids it, or does not do what is wanted of it.
    pub(crate) fn new() -> io::Result<Self> {
        let entries = CALLS_MAX as u32;
        // What completes a call is done by the thread that gave it, when it asks: the cheapest way there is, from Linux 6.1 on.
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_coop_taskrun()
            .setup_defer_taskrun()
            .build(entries)
            .or_else(|_| IoUring::new(entries))?;
        let mut ring = Self {
            ring,
            entries: Vec::with_capacity(CALLS_MAX),
            targets: Targets::default(),
            results: Vec::with_capacity(CALLS_MAX),
            is_broken: false,
        };
        ring.try_out()?;
        Ok(ring)
    }

    /// Whether a batch was not taken; no other one may be given.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Receives once from each socket, behind what its buffer has, as much as there is room for.
    ///
    /// # Panics
    /// If there are more than [`CALLS_MAX`], or the ring is broken (caller bugs).
    pub(crate) fn receive<'a>(
        &mut self,
        calls: impl Iterator<Item = (BorrowedFd<'a>, &'a mut Vec<u8>)>,
    ) {
        self.begin();
        for (socket, buffer) in calls {
            let (room, len) = self.targets.add(buffer);
            let entry = opcode::Recv::new(types::Fd(socket.as_raw_fd()), room, len)
                .flags(RecvFlags::DONTWAIT.bits() as i32);
            self.push(entry.build());
        }
        self.complete();
        // SAFETY: the buffers are borrowed exclusively for 'a, which is longer than this call, and the kernel has written as
        // many bytes into the room of each as it says.
        #[expect(unsafe_code, reason = "see the module")]
        unsafe {
            self.targets.grow(&self.results);
        }
    }

    /// Sends once to each socket.
    ///
    /// # Panics
    /// As [`Self::receive`].
    pub(crate) fn send<'a>(&mut self, calls: impl Iterator<Item = (BorrowedFd<'a>, &'a [u8])>) {
        self.begin();
        for (socket, bytes) in calls {
            let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            let socket = types::Fd(socket.as_raw_fd());
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            let entry = opcode::Send::new(socket, bytes.as_ptr(), len).flags(flags.bits() as i32);
            self.push(entry.build());
        }
        self.complete();
    }

    /// What the calls of the last batch came to, in its order: bytes; `None` if the kernel did not take one.
    pub(crate) fn results(&self) -> impl Iterator<Item = Option<Result<usize, Errno>>> {
        self.results.iter().map(|&result| match result {
            PENDING => None,
            _ => Some(usize::try_from(result).map_err(|_| Errno::from_raw_os_error(-result))),
        })
    }

    fn begin(&mut self) {
        assert!(!self.is_broken, "a ring that the kernel refuses is used");
        self.entries.clear();
        self.targets.0.clear();
    }

    /// Adds a call, which its number among the others names.
    fn push(&mut self, entry: squeue::Entry) {
        let number = self.entries.len() as u64;
        self.entries.push(entry.user_data(number));
    }

    /// Has the kernel do all calls, and returns when it has.
    fn complete(&mut self) {
        let count = self.entries.len();
        assert!(count <= CALLS_MAX, "{count} calls in one batch");
        self.results.clear();
        self.results.resize(count, PENDING);
        // SAFETY: what the entries point to stays borrowed until this function returns, which it does when the kernel has
        // completed each of them, or has not taken it and never will.
        #[expect(unsafe_code, reason = "see the module")]
        let pushed = unsafe { self.ring.submission().push_multiple(&self.entries) };
        assert!(pushed.is_ok(), "the queue is empty before each batch");
        let mut left = count;
        while left > 0 {
            let submitted = self.ring.submit_and_wait(left);
            let mut completions = self.ring.completion();
            for completion in &mut completions {
                let number = completion.user_data() as usize;
                assert_eq!(self.results[number], PENDING, "a call is completed once");
                self.results[number] = completion.result();
                left -= 1;
            }
            drop(completions);
            let is_refused =
                submitted.is_err_and(|error| error.kind() != io::ErrorKind::Interrupted);
            // What the kernel has taken it completes at once; what is left then it has not taken.
            if is_refused && left == self.ring.submission().len() {
                self.is_broken = left > 0;
                break;
            }
        }
    }

    /// Finds out whether it receives, sends and does not wait.
    fn try_out(&mut self) -> io::Result<()> {
        let mut probe = io_uring::Probe::new();
        self.ring.submitter().register_probe(&mut probe)?;
        let is_known = |code| probe.is_supported(code);
        // Kernels since 5.11 know this, and have honoured `MSG_DONTWAIT` for long.
        if !self.ring.params().is_feature_ext_arg()
            || !is_known(opcode::Recv::CODE)
            || !is_known(opcode::Send::CODE)
        {
            return Err(io::Error::other("the kernel's io_uring is too old"));
        }
        let (here, there) = std::os::unix::net::UnixStream::pair()?;
        let mut received = Vec::with_capacity(16);
        let mut outcomes = Vec::new();
        let mut receive = |ring: &mut Self| {
            ring.receive(std::iter::once((there.as_fd(), &mut received)));
            outcomes.extend(ring.results());
        };
        receive(self);
        self.send(std::iter::once((here.as_fd(), &b"it works"[..])));
        let sent = self.results().next();
        receive(self);
        let wanted = [Some(Err(Errno::AGAIN)), Some(Ok(8))];
        if outcomes == wanted && sent == Some(Some(Ok(8))) && received == b"it works" {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "io_uring does not do as it should: {outcomes:?}, {sent:?}"
        )))
    }
}

/// The buffers of a batch that receives, while only the kernel knows them.
#[derive(Default)]
struct Targets(Vec<*mut Vec<u8>>);

impl Targets {
    /// Takes note of a buffer; where its spare room is, and how long.
    fn add(&mut self, buffer: &mut Vec<u8>) -> (*mut u8, u32) {
        let buffer = std::ptr::from_mut(buffer);
        self.0.push(buffer);
        // SAFETY: it was a reference a moment ago.
        #[expect(unsafe_code, reason = "see the module")]
        let spare = unsafe { (*buffer).spare_capacity_mut() };
        let len = u32::try_from(spare.len()).unwrap_or(u32::MAX);
        (spare.as_mut_ptr().cast(), len)
    }

    /// Forgets the buffers, which have got so many bytes more, each; a negative number: none.
    ///
    /// # Safety
    /// Nobody has used the buffers since they were added, and so many bytes of the room of each were written.
    #[expect(unsafe_code, reason = "see the module")]
    unsafe fn grow(&mut self, received: &[i32]) {
        for (buffer, &received) in self.0.drain(..).zip(received) {
            let received = usize::try_from(received).unwrap_or(0);
            // SAFETY: as the caller says.
            unsafe {
                let buffer = &mut *buffer;
                assert!(
                    received <= buffer.capacity() - buffer.len(),
                    "the kernel wrote beyond the room"
                );
                buffer.set_len(buffer.len() + received);
            }
        }
    }
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring").finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "ring_test.rs"]
mod ring_test;
