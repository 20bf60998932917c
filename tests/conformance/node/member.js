'use strict'
// A group member of kafkajs: reads and commits until its input ends. Orders are JSON in the first
// argument; the diary goes to standard output, one write a line, in the words that the members in
// Python and Java use.
const fs = require('fs')
const { AssignerProtocol, Kafka, logLevel } = require('kafkajs')
const ConsumerGroup = require('kafkajs/src/consumer/consumerGroup')

const orders = JSON.parse(process.argv[2])
const toStderr = () => ({ namespace, log }) => console.error(namespace, log.message, log.error || '')

function write(kind, fields) {
  fs.writeSync(1, JSON.stringify({ m: orders.name, e: kind, ...fields }) + '\n')
}

const state = { generation: -1, isReading: false, rounds: 0, held: [], uncommitted: new Map() }

// kafkajs names its own assignor as no other library does, and lets its user bring one.
const range = ({ cluster }) => ({
  name: 'range',
  version: 0,
  protocol({ topics }) {
    const metadata = AssignerProtocol.MemberMetadata.encode({ version: 0, topics })
    return { name: 'range', metadata }
  },
  async assign({ members }) {
    const shares = new Map(members.map(({ memberId }) => [memberId, {}]))
    const readers = new Map()
    for (const { memberId, memberMetadata } of members) {
      for (const topic of AssignerProtocol.MemberMetadata.decode(memberMetadata).topics) {
        readers.set(topic, [...(readers.get(topic) || []), memberId])
      }
    }
    for (const [topic, ids] of readers) {
      const partitions = cluster.findTopicPartitionMetadata(topic).map(found => found.partitionId)
      partitions.sort((a, b) => a - b)
      ids.sort().forEach((id, index) => {
        const [from, to] = [index, index + 1].map(at => Math.ceil((at * partitions.length) / ids.length))
        shares.get(id)[topic] = partitions.slice(from, to)
      })
    }
    return [...shares].map(([memberId, assignment]) => ({
      memberId,
      memberAssignment: AssignerProtocol.MemberAssignment.encode({ version: 0, assignment }),
    }))
  },
})

async function commit(group) {
  const rows = [...state.uncommitted.values()]
  if (rows.length === 0) return
  const topics = new Map()
  for (const [topic, partition, offset] of rows) {
    topics.set(topic, [...(topics.get(topic) || []), { partition, offset: String(offset) }])
  }
  write('committing', { offsets: rows })
  try {
    await group.commitOffsets({
      topics: [...topics].map(([topic, partitions]) => ({ topic, partitions })),
    })
  } catch (error) {
    write('refused', { offsets: rows, error: error.type || error.name })
    throw error
  }
  write('committed', { offsets: rows })
  state.uncommitted.clear()
}

async function giveUp(group) {
  state.isReading = false
  try {
    await commit(group)
  } catch (error) {
    console.error('the last commit was refused', error.message)
  }
  if (state.held.length > 0) write('revoked', { parts: state.held })
  state.held = []
  state.uncommitted.clear()
}

// kafkajs tells of a rebalance when it is over, and not its generation: so its two steps are watched.
const { joinAndSync, leave } = ConsumerGroup.prototype
let consumerGroup = null

ConsumerGroup.prototype.joinAndSync = async function () {
  consumerGroup = this
  await giveUp(this)
  await joinAndSync.call(this)
  state.generation = this.generationId
  state.held = this.assigned().flatMap(({ topic, partitions }) => partitions.map(p => [topic, p]))
  write('assigned', { g: state.generation, parts: state.held })
  state.isReading = true
}

ConsumerGroup.prototype.leave = async function () {
  await giveUp(this)
  await leave.call(this)
}

async function eachBatch({ batch, resolveOffset }) {
  if (!state.isReading) return // left over from before a rebalance
  const { topic, partition, messages } = batch
  const [from, to] = [Number(messages[0].offset), Number(messages[messages.length - 1].offset) + 1]
  if (to - from !== messages.length) throw new Error(`a gap in ${topic}-${partition} after ${from}`)
  write('records', { g: state.generation, t: topic, p: partition, from, to })
  resolveOffset(String(to - 1))
  state.uncommitted.set(`${topic}|${partition}`, [topic, partition, to])
  state.rounds += 1
  if (state.rounds % orders.commit_every === 0) await commit(consumerGroup)
}

async function main() {
  const kafka = new Kafka({
    brokers: [orders.bootstrap],
    clientId: orders.name,
    logLevel: logLevel.WARN,
    logCreator: toStderr,
    retry: { retries: 8, initialRetryTime: 50 },
  })
  const consumer = kafka.consumer({
    groupId: orders.group,
    partitionAssigners: [range],
    sessionTimeout: orders.session_ms,
    rebalanceTimeout: 60000,
    heartbeatInterval: 500,
    maxWaitTimeInMs: 50,
    metadataMaxAge: 1000,
  })
  await consumer.connect()
  await consumer.subscribe({ topics: orders.topics, fromBeginning: true })
  await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch })
  process.stdin.on('end', async () => {
    await consumer.disconnect()
    write('ended')
    process.exit(0)
  })
  process.stdin.resume()
}

main()
