//! End-to-end tests of one node: the real program, real sockets, real clients.
//!
//! One binary, so that the tests share the machine as the test runner sees fit. Longer runs are asked
//! for by the environment: `BRICKYARD_E2E_SEQUENCES`, `BRICKYARD_E2E_CRASHES`, `BRICKYARD_E2E_GARBAGE`,
//! `BRICKYARD_E2E_SEED`.

mod advice;
mod attackers;
mod bad_input;
mod bricks;
mod channels;
mod clients;
mod crash;
mod damage;
mod differential;
mod disk_full;
mod experiments;
mod following;
mod functions;
mod hashes;
mod library;
mod limits;
mod operations;
mod overload;
mod protocol;
mod scripted;
mod scripts;
mod startup;
mod supervised;
mod tables;
mod tools;
mod transactions;
mod two_tables;
mod users;
mod watching;
