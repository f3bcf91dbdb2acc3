//! Several nodes of one cluster in this process: real sockets, real directories.

mod cluster {
    mod forming;
    mod replicas;
    mod secure;
    mod support;
}
