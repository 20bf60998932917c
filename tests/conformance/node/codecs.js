'use strict'
// The codecs that kafkajs leaves to its user, from packages without native code.
const { CompressionCodecs, CompressionTypes } = require('kafkajs')
const lz4 = require('lz4js')
const snappy = require('snappyjs')
const zstd = require('@bokuweb/zstd-wasm')

const XERIAL = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00])
const XERIAL_HEADER_BYTES = 16 // magic, version, oldest compatible version

function unsnap(buffer) {
  if (!buffer.subarray(0, XERIAL.length).equals(XERIAL)) return snappy.uncompress(buffer)
  const chunks = []
  for (let at = XERIAL_HEADER_BYTES; at < buffer.length; ) {
    const end = at + 4 + buffer.readUInt32BE(at)
    chunks.push(Buffer.from(snappy.uncompress(buffer.subarray(at + 4, end))))
    at = end
  }
  return Buffer.concat(chunks)
}

// Kafka takes frames of independent blocks only, and the package's own frames are not.
const LZ4_FRAME_HEADER = Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82]) // 64 KiB blocks
const LZ4_BLOCK_BYTES = 65536
const LZ4_STORED = 0x80000000

function lz4Frame(buffer) {
  const parts = [LZ4_FRAME_HEADER]
  for (let at = 0; at < buffer.length; at += LZ4_BLOCK_BYTES) {
    const block = buffer.subarray(at, at + LZ4_BLOCK_BYTES)
    const packed = Buffer.alloc(lz4.compressBound(block.length))
    const size = lz4.compressBlock(block, packed, 0, block.length, new Uint32Array(65536))
    const isPacked = size > 0 && size < block.length
    const length = Buffer.alloc(4)
    length.writeUInt32LE(isPacked ? size : LZ4_STORED + block.length)
    parts.push(length, isPacked ? packed.subarray(0, size) : block)
  }
  return Buffer.concat([...parts, Buffer.alloc(4)])
}

CompressionCodecs[CompressionTypes.Snappy] = () => ({
  compress: async encoder => Buffer.from(snappy.compress(encoder.buffer)),
  decompress: async buffer => Buffer.from(unsnap(buffer)),
})
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: async encoder => lz4Frame(encoder.buffer),
  decompress: async buffer => Buffer.from(lz4.decompress(buffer)),
})
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async encoder => Buffer.from(zstd.compress(encoder.buffer, 3)),
  decompress: async buffer => Buffer.from(zstd.decompress(buffer)),
})

module.exports = {
  ready: zstd.init(),
  types: {
    none: CompressionTypes.None,
    gzip: CompressionTypes.GZIP,
    snappy: CompressionTypes.Snappy,
    lz4: CompressionTypes.LZ4,
    zstd: CompressionTypes.ZSTD,
  },
}
