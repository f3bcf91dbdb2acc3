//! Channels: messages to whoever subscribes.

use super::{Argument, CommandGroup, CommandId, KeySpec, Spec, category, flag, key_flag};

/// A command of this family.
const fn command(id: CommandId, name: &'static str, arity: i8, flags: u32) -> Spec {
    let flags = flags | flag::PUBSUB | flag::LOADING | flag::STALE;
    Spec::new(id, name, arity, flags).of(CommandGroup::Pubsub, category::PUBSUB)
}

/// One that changes what its client subscribes to.
const fn subscribes(id: CommandId, name: &'static str, arity: i8) -> Spec {
    command(id, name, arity, flag::NOSCRIPT)
}

/// The name of a sharded channel is no key, and has the slot that it would have as one.
const ONE: &[KeySpec] = &[KeySpec::one(1, key_flag::NOT_KEY)];
const MANY: &[KeySpec] = &[KeySpec::range(1, -1, 1, key_flag::NOT_KEY)];

const CHANNEL: Argument = Argument::string("channel");
const SHARD_CHANNEL: Argument = Argument::string("shardchannel");
const PATTERN: Argument = Argument::pattern("pattern");
const MESSAGE: Argument = Argument::string("message");

const OF_SUBSCRIBERS: &str = "O(N + M) for N clients that subscribe and M patterns";
const OF_CHANNELS: &str = "O(N) for N channels";
const OF_PATTERNS: &str = "O(N) for N patterns";

pub(super) const COMMANDS: &[Spec] = &[
    subscribes(CommandId::Psubscribe, "psubscribe", -2)
        .docs(
            "Subscribes to all channels whose names match these patterns.",
            "2.0.0",
            OF_PATTERNS,
        )
        .arguments(&[Argument::block("pattern", &[PATTERN]).multiple()]),
    command(CommandId::Publish, "publish", 3, flag::FAST)
        .docs("Sends a message to a channel.", "2.0.0", OF_SUBSCRIBERS)
        .arguments(&[CHANNEL, MESSAGE]),
    Spec::new(CommandId::Pubsub, "pubsub", -2, 0)
        .of(CommandGroup::Pubsub, 0)
        .docs(
            "Commands about channels and who subscribes to them.",
            "2.8.0",
            "Depends on the subcommand",
        )
        .subcommands(&[
            command(CommandId::PubsubChannels, "pubsub|channels", -2, 0)
                .docs(
                    "Lists the channels that clients of this node subscribe to.",
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
                "Tells how many patterns clients of this node subscribe to.",
                "2.8.0",
                "O(1)",
            ),
            command(CommandId::PubsubNumsub, "pubsub|numsub", -2, 0)
                .docs(
                    "Tells how many clients of this node subscribe to each of these channels.",
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
                "Lists the sharded channels that clients of this node subscribe to.",
                "7.0.0",
                OF_CHANNELS,
            )
            .arguments(&[PATTERN.optional()]),
            command(CommandId::PubsubShardnumsub, "pubsub|shardnumsub", -2, 0)
                .docs(
                    "Tells how many clients of this node subscribe to each of these sharded channels.",
                    "7.0.0",
                    OF_CHANNELS,
                )
                .arguments(&[SHARD_CHANNEL.optional().multiple()]),
        ]),
    subscribes(CommandId::Punsubscribe, "punsubscribe", -1)
        .docs(
            "Subscribes to these patterns no more, or to none.",
            "2.0.0",
            OF_PATTERNS,
        )
        .arguments(&[PATTERN.optional().multiple()]),
    command(CommandId::Spublish, "spublish", 3, flag::FAST)
        .keys(ONE)
        .docs(
            "Sends a message to a sharded channel.",
            "7.0.0",
            "O(N) for N clients that subscribe",
        )
        .arguments(&[SHARD_CHANNEL, MESSAGE]),
    subscribes(CommandId::Ssubscribe, "ssubscribe", -2)
        .keys(MANY)
        .docs("Subscribes to these sharded channels.", "7.0.0", OF_CHANNELS)
        .arguments(&[SHARD_CHANNEL.multiple()]),
    subscribes(CommandId::Subscribe, "subscribe", -2)
        .docs("Subscribes to these channels.", "2.0.0", OF_CHANNELS)
        .arguments(&[CHANNEL.multiple()]),
    subscribes(CommandId::Sunsubscribe, "sunsubscribe", -1)
        .keys(MANY)
        .docs(
            "Subscribes to these sharded channels no more, or to none.",
            "7.0.0",
            OF_CHANNELS,
        )
        .arguments(&[SHARD_CHANNEL.optional().multiple()]),
    subscribes(CommandId::Unsubscribe, "unsubscribe", -1)
        .docs(
            "Subscribes to these channels no more, or to none.",
            "2.0.0",
            OF_CHANNELS,
        )
        .arguments(&[CHANNEL.optional().multiple()]),
];
