import { crc32 } from 'node:zlib';

/** The shard of a key: the same on every instance and in every version. */
export const shardOf = (key: string, shards: number): number => crc32(key) % shards;
