use super::*;
use brickyard_tls::MachineFiles;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::time::timeout;

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(20);

fn node() -> NodeSide {
    let dir = tempfile::tempdir().expect("a directory");
    let files = MachineFiles::of(&dir.path().join("certificates")).expect("made");
    NodeSide::read(&files.identity, &files.authority).expect("read")
}

/// Who dials, and who is dialed.
async fn connected() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let at = listener.local_addr().expect("bound");
    let dialer = TcpStream::connect(at).await.expect("connected");
    let (dialed, _) = listener.accept().await.expect("accepted");
    (dialer, dialed)
}

#[tokio::test]
async fn nodes_shake_hands_on_another_thread_and_talk_on_this_one() {
    let (tls, handshakes) = (node(), Handshakes::default());
    let (dialer, dialed) = connected().await;
    let both = async {
        tokio::join!(
            PeerSocket::dialed(dialer, Some(&tls)),
            handshakes.accept(dialed, Some(&tls))
        )
    };
    let (dialer, dialed) = timeout(LONG, both).await.expect("in time");
    let (mut dialer, mut dialed) = (dialer.expect("a node"), dialed.expect("a node"));
    dialer.write_all(b"hello").await.expect("written");
    dialer.flush().await.expect("sent");
    let mut heard = [0; 5];
    let read = timeout(LONG, dialed.read_exact(&mut heard)).await;
    read.expect("in time").expect("read");
    assert_eq!(&heard, b"hello");
}

#[tokio::test]
async fn handshake_that_nobody_waits_for_is_broken_off() {
    let (tls, handshakes) = (node(), Handshakes::default());
    let (mut silent, dialed) = connected().await;
    let accepted = timeout(
        Duration::from_millis(20),
        handshakes.accept(dialed, Some(&tls)),
    );
    assert!(accepted.await.is_err(), "it says nothing");
    let mut heard = [0; 1];
    let read = timeout(LONG, silent.read(&mut heard)).await;
    let read = read.expect("the connection ends");
    assert!(!matches!(read, Ok(1..)), "{read:?}");
}

#[tokio::test]
async fn in_the_clear_there_is_no_handshake_and_no_thread() {
    let handshakes = Handshakes::default();
    let (_dialer, dialed) = connected().await;
    let accepted = handshakes.accept(dialed, None).await;
    assert!(matches!(accepted, Ok(PeerSocket::Plain(_))));
    assert!(handshakes.0.get().is_none());
}
