'use strict'
// kafkajs on a pipe: a request is one line of JSON on stdin, its answer one on stdout.
const readline = require('readline')
const { ConfigResourceTypes, Kafka, logLevel } = require('kafkajs')
const Cluster = require('kafkajs/src/cluster')
const Batch = require('kafkajs/src/consumer/batch')
const defaultSocketFactory = require('kafkajs/src/network/socketFactory')
const { createLogger } = require('kafkajs/src/loggers')
const codecs = require('./codecs')
const transactions = require('./transactions')

const toStderr = () => ({ namespace, log }) => console.error(namespace, log.message)
const retry = { retries: 5, initialRetryTime: 100 }
const bytes = text => (text == null ? null : Buffer.from(text, 'base64'))
const text = buffer => (buffer == null ? null : Buffer.from(buffer).toString('base64'))

function kafka(q) {
  return new Kafka({
    brokers: [q.bootstrap],
    clientId: 'conformance',
    logLevel: logLevel.ERROR,
    logCreator: toStderr,
    retry,
  })
}

async function withAdmin(q, action) {
  const admin = kafka(q).admin()
  await admin.connect()
  try {
    return await action(admin)
  } finally {
    await admin.disconnect()
  }
}

function topicRecord(record) {
  const headers = {}
  for (const [name, value] of record.headers || []) {
    headers[name] = [...(headers[name] || []), bytes(value)]
  }
  const message = { key: bytes(record.key), value: bytes(record.value), headers }
  if (record.partition != null) message.partition = record.partition
  if (record.timestamp != null) message.timestamp = String(record.timestamp)
  return message
}

async function produce(q) {
  const producer = kafka(q).producer({
    idempotent: q.idempotent,
    allowAutoTopicCreation: true,
    maxInFlightRequests: q.idempotent ? 1 : null,
  })
  await producer.connect()
  try {
    const answers = await producer.send({
      topic: q.topic,
      acks: q.acks === 'all' ? -1 : Number(q.acks),
      compression: codecs.types[q.codec],
      messages: q.records.map(topicRecord),
    })
    return answers.map(answer => ({
      partition: answer.partition,
      offset: Number(answer.baseOffset),
      timestamp: Number(answer.logAppendTime),
    }))
  } finally {
    await producer.disconnect()
  }
}

// kafkajs consumes through consumer groups only, so its own request layer is driven here: what is
// sent, parsed and decompressed is all its doing, only the choice of the partition is ours.
async function withCluster(q, action) {
  const cluster = new Cluster({
    logger: createLogger({ level: logLevel.ERROR, logCreator: toStderr }),
    socketFactory: defaultSocketFactory(),
    brokers: [q.bootstrap],
    clientId: 'conformance',
    connectionTimeout: 5000,
    enforceRequestTimeout: true,
    retry,
    allowAutoTopicCreation: false,
    isolationLevel: q.isolation_level || 0,
  })
  await cluster.connect()
  try {
    await cluster.addTargetTopic(q.topic)
    return await action(cluster)
  } finally {
    await cluster.disconnect()
  }
}

async function offsetOf(cluster, q, at) {
  const names = { earliest: -2, latest: -1, max_timestamp: -3 }
  const timestamp = at in names ? names[at] : at
  const leaders = cluster.findLeaderForPartitions(q.topic, [q.partition])
  const broker = await cluster.findBroker({ nodeId: Object.keys(leaders)[0] })
  const { responses } = await broker.listOffsets({
    isolationLevel: 0,
    topics: [{ topic: q.topic, partitions: [{ partition: q.partition, timestamp }] }],
  })
  const found = responses[0].partitions[0]
  return { offset: Number(found.offset), timestamp: Number(found.timestamp) }
}

async function startOffset(cluster, q) {
  if (q.from === 'beginning') return (await offsetOf(cluster, q, 'earliest')).offset
  if (q.from.startsWith('time:')) return (await offsetOf(cluster, q, q.from.slice(5))).offset
  return Number(q.from)
}

async function consume(q) {
  const deadline = Date.now() + (q.timeout_ms || 30000)
  return withCluster(q, async cluster => {
    const leaders = cluster.findLeaderForPartitions(q.topic, [q.partition])
    const broker = await cluster.findBroker({ nodeId: Object.keys(leaders)[0] })
    const records = []
    let next = await startOffset(cluster, q)
    while (records.length < q.count) {
      if (Date.now() > deadline) throw new Error(`only ${records.length} of ${q.count} records came`)
      const partitions = [{ partition: q.partition, fetchOffset: String(next), maxBytes: 1048576 }]
      const { responses } = await broker.fetch({
        isolationLevel: q.isolation_level || 0,
        maxWaitTime: 200,
        topics: [{ topic: q.topic, partitions }],
      })
      for (const data of responses.flatMap(response => response.partitions)) {
        const batch = new Batch(q.topic, String(next), data)
        records.push(...batch.messages.map(message => answer(q, message)))
        if (data.messages.length) next = Number(batch.lastOffset()) + 1
      }
    }
    return records.slice(0, q.count)
  })
}

function answer(q, message) {
  const headers = []
  for (const [name, values] of Object.entries(message.headers)) {
    for (const value of [].concat(values)) headers.push([name, text(value)])
  }
  return {
    partition: q.partition,
    offset: Number(message.offset),
    timestamp: Number(message.timestamp),
    timestamp_type: message.batchContext.timestampType ? 'LogAppendTime' : 'CreateTime',
    key: text(message.key),
    value: text(message.value),
    headers,
  }
}

const resource = q => ({ type: ConfigResourceTypes[q.kind.toUpperCase()], name: q.name })
const pairs = object => Object.entries(object || {}).map(([name, value]) => ({ name, value }))

const operations = {
  ...transactions(kafka),
  produce,
  consume,
  offset: q => withCluster(q, cluster => offsetOf(cluster, q, q.at)),
  list_topics: q => withAdmin(q, async admin => (await admin.listTopics()).sort()),
  delete_topic: q => withAdmin(q, admin => admin.deleteTopics({ topics: [q.topic] })),
  create_topic: q =>
    withAdmin(q, admin =>
      admin.createTopics({
        waitForLeaders: true,
        topics: [
          { topic: q.topic, numPartitions: q.partitions, configEntries: pairs(q.configs) },
        ],
      })
    ),
  add_partitions: q =>
    withAdmin(q, admin =>
      admin.createPartitions({ topicPartitions: [{ topic: q.topic, count: q.total }] })
    ),
  describe_topic: q =>
    withAdmin(q, async admin => {
      const { topics } = await admin.fetchTopicMetadata({ topics: [q.topic] })
      const partitions = topics[0].partitions.map(partition => ({
        partition: partition.partitionId,
        leader: partition.leader,
        replicas: partition.replicas,
        isr: partition.isr,
      }))
      return { partitions: partitions.sort((a, b) => a.partition - b.partition) }
    }),
  describe_cluster: q =>
    withAdmin(q, async admin => {
      const { brokers, controller, clusterId } = await admin.describeCluster()
      const nodes = brokers.map(broker => `${broker.host}:${broker.port}`)
      return { cluster_id: clusterId, controller, nodes }
    }),
  describe_configs: q =>
    withAdmin(q, async admin => {
      const { resources } = await admin.describeConfigs({
        includeSynonyms: true,
        resources: [resource(q)],
      })
      const entries = resources[0].configEntries.map(entry => [
        entry.configName,
        { value: entry.configValue, sensitive: entry.isSensitive, read_only: entry.readOnly },
      ])
      return Object.fromEntries(entries)
    }),
  alter_configs: q =>
    withAdmin(q, admin =>
      admin.alterConfigs({
        validateOnly: false,
        resources: [{ ...resource(q), configEntries: pairs(q.set) }],
      })
    ),
  delete_records: q =>
    withAdmin(q, async admin => {
      const partitions = [{ partition: q.partition, offset: String(q.before) }]
      await admin.fetchTopicOffsets(q.topic) // kafkajs looks for the leader before it asks for it
      await admin.deleteTopicRecords({ topic: q.topic, partitions })
      const offsets = await admin.fetchTopicOffsets(q.topic)
      return Number(offsets.find(found => found.partition === q.partition).low)
    }),
}

async function main() {
  await codecs.ready
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const q = JSON.parse(line)
    let reply
    try {
      if (!(q.op in operations)) throw new Error(`unknown operation ${q.op}`)
      const result = await operations[q.op](q)
      reply = { ok: result === undefined ? null : result }
    } catch (error) {
      reply = { error: error.type || error.name, message: error.message }
    }
    process.stdout.write(JSON.stringify(reply) + '\n')
  }
}

main()
