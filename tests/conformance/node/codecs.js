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

CompressionCodecs[CompressionTypes.Snappy] = () => ({
  compress: async encoder => Buffer.from(snappy.compress(encoder.buffer)),
  decompress: async buffer => Buffer.from(unsnap(buffer)),
})
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: async encoder => Buffer.from(lz4.compress(encoder.buffer)),
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
