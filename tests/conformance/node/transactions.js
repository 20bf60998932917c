'use strict'
// Transactional producers that stay between calls, each under the name that it was opened with.
const opened = new Map()

module.exports = kafka => ({
  async txn_open(q) {
    const producer = kafka(q).producer({
      transactionalId: q.transactional_id,
      transactionTimeout: q.timeout_ms,
      maxInFlightRequests: 1,
      idempotent: true,
    })
    opened.set(q.name, { producer })
    await producer.connect()
  },
  async txn_begin(q) {
    const held = opened.get(q.name)
    held.transaction = await held.producer.transaction()
  },
  async txn_send(q) {
    const messages = [{ value: q.value, partition: 0 }]
    await opened.get(q.name).transaction.send({ topic: q.topic, messages })
  },
  async txn_offset(q) {
    const partitions = [{ partition: 0, offset: String(q.offset) }]
    await opened.get(q.name).transaction.sendOffsets({
      consumerGroupId: q.group,
      topics: [{ topic: q.topic, partitions }],
    })
  },
  txn_commit: q => opened.get(q.name).transaction.commit(),
  txn_abort: q => opened.get(q.name).transaction.abort(),
  async txn_close(q) {
    await opened.get(q.name).producer.disconnect()
    opened.delete(q.name)
  },
})
