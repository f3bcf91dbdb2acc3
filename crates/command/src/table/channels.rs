//! Channels: messages to whoever listens.

use super::{Argument, CommandGroup, CommandId, KeySpec, Spec, category, flag, key_flag};

/// A command of this family.
const fn command(id: CommandId, name: &'static str, arity: i8, flags: u32) -> Spec {
    let flags = flags | flag::PUBSUB | flag::LOADING | flag::STALE;
    Spec::new(id, name, arity, flags).of(CommandGroup::Pubsub, category::PUBSUB)
}

/// One that changes what its client listens to.
const fn listens(id: CommandId, name: &'static str, arity: i8) -> Spec {
    command(id, name, arity, flag::NOSCRIPT)
}

/// The name of a sharded channel is no key, and has the slot that it would have as one.
const ONE: &[KeySpec] = &[KeySpec::one(1, key_flag::NOT_KEY)];
const MANY: &[KeySpec] = &[KeySpec::range(1, -1, 1, key_flag::NOT_KEY)];

const CHANNEL: Argument = Argument::string("channel");
const SHARD_CHANNEL: Argument = Argument::string("shardchannel");
const PATTERN: Argument = Argument::pattern("pattern");
const MESSAGE: Argument = Argument::string("message");

const OF_LISTENERS: &str = "O(N + M) for N clients that listen and M patterns";
const OF_CHANNELS: &str = "O(N) for N channels";
const OF_PATTERNS: &str = "O(N) for N patterns";

pub(super) const COMMANDS: &[Spec] = &[
    listens(CommandId::Psubscribe, "psubscribe", -2)
        .docs(
            "Listens to all channels whose names match these patterns.",
            "2.0.0",
            OF_PATTERNS,
        )
        .arguments(&[Argument::block("pattern", &[PATTERN]).multiple()]),
    command(CommandId::Publish, "publish", 3, flag::FAST)
        .docs("Sends a message to a channel.", "2.0.0", OF_LISTENERS)
        .arguments(&[CHANNEL, MESSAGE]),
    Spec::new(CommandId::Pubsub, "pubsub", -2, 0)
        .of(CommandGroup::Pubsub, 0)
        .docs(
            "Commands about channels and who listens to them.",
            "2.8.0",
            "Depends on the subcommand",
        )
        .subcommands(&[
            command(CommandId::PubsubChannels, "pubsub|channels", -2, 0)
                .docs(
                    "Lists the channels that clients of this node listen to.",
                    "2.8.0",
                    OF_CHANNELS,
                )
                .arguments(&[PATTERN.optional()]),
            Spec::new(
                CommandId::PubsubHelp,
                "pubsub|help",
                2,
                flag::LOADING | flag::STALE,
            )
            .of(CommandGroup::Pubsub, 0)
            .docs("Lists the subcommands of PUBSUB.", "6.2.0", "O(1)"),
            command(CommandId::PubsubNumpat, "pubsub|numpat", 2, 0).docs(
                "Tells how many patterns clients of this node listen to.",
                "2.8.0",
                "O(1)",
            ),
            command(CommandId::PubsubNumsub, "pubsub|numsub", -2, 0)
                .docs(
                    "Tells how many clients of this node listen to each of these channels.",
                    "2.8.0",
                    OF_CHANNELS,
                )
                .arguments(&[CHANNEL.optional().multiple()]),
            command(
                CommandId::PubsubShardchannels,
                "pubsub|shardchannels",
                -2,
                0,
            )
            .docs(
                "Lists the sharded channels that clients of this node listen to.",
                "7.0.0",
                OF_CHANNELS,
            )
            .arguments(&[PATTERN.optional()]),
            command(CommandId::PubsubShardnumsub, "pubsub|shardnumsub", -2, 0)
                .docs(
                    "Tells how many clients of this node listen to each of these sharded channels.",
                    "7.0.0",
                    OF_CHANNELS,
                )
                .arguments(&[SHARD_CHANNEL.optional().multiple()]),
        ]),
    listens(CommandId::Punsubscribe, "punsubscribe", -1)
        .docs(
            "Listens to these patterns no more, or to none.",
            "2.0.0",
            OF_PATTERNS,
        )
        .arguments(&[PATTERN.optional().multiple()]),
    command(CommandId::Spublish, "spublish", 3, flag::FAST)
        .keys(ONE)
        .docs(
            "Sends a message to a sharded channel.",
            "7.0.0",
            "O(N) for N clients that listen",
        )
        .arguments(&[SHARD_CHANNEL, MESSAGE]),
    listens(CommandId::Ssubscribe, "ssubscribe", -2)
        .keys(MANY)
        .docs("Listens to these sharded channels.", "7.0.0", OF_CHANNELS)
        .arguments(&[SHARD_CHANNEL.multiple()]),
    listens(CommandId::Subscribe, "subscribe", -2)
        .docs("Listens to these channels.", "2.0.0", OF_CHANNELS)
        .arguments(&[CHANNEL.multiple()]),
    listens(CommandId::Sunsubscribe, "sunsubscribe", -1)
        .keys(MANY)
        .docs(
            "Listens to these sharded channels no more, or to none.",
            "7.0.0",
            OF_CHANNELS,
        )
        .arguments(&[SHARD_CHANNEL.optional().multiple()]),
    listens(CommandId::Unsubscribe, "unsubscribe", -1)
        .docs(
            "Listens to these channels no more, or to none.",
            "2.0.0",
            OF_CHANNELS,
        )
        .arguments(&[CHANNEL.optional().multiple()]),
];
