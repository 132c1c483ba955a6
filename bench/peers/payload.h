/* What the programs of peers have in common: the data of messages and the waits, as bench/cases/payload.cpp and bench/ranks/clock.cpp have them. */
#pragma once

#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

static inline uint64_t mix(uint64_t x) { /* splitmix64 (Steele, Lea, Flood 2014) */
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

/* Every eight bytes are a hash of the key and the position. With flip = ~0 every byte is wrong. */
static inline void fill(char* data, uint64_t bytes, uint64_t key, uint64_t flip) {
    for (uint64_t at = 0; at < bytes; at += sizeof key) {
        const uint64_t word = mix(key + at / sizeof key) ^ flip;
        memcpy(data + at, &word, bytes - at < sizeof word ? bytes - at : sizeof word);
    }
}

/* The position of the first wrong byte, or -1. */
static inline int64_t find_wrong(const char* data, uint64_t bytes, uint64_t key) {
    for (uint64_t at = 0; at < bytes; at += sizeof key) {
        const uint64_t expected = mix(key + at / sizeof key);
        const uint64_t size = bytes - at < sizeof expected ? bytes - at : sizeof expected;
        if (memcmp(data + at, &expected, size) == 0) continue;
        const char* const right = (const char*)&expected;
        uint64_t offset = 0;
        while (data[at + offset] == right[offset]) ++offset;
        return (int64_t)(at + offset);
    }
    return -1;
}

static inline int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* A rank that sleeps wakes this long before the moment (nanoseconds), and polls for the rest with yields. */
enum { kPolled = 60000 };

static inline void wait_until(int64_t moment, int may_sleep) {
    const int64_t wake = moment - kPolled;
    const struct timespec time = {wake / 1000000000, wake % 1000000000};
    if (may_sleep && now() < wake)
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) != 0) continue;
    while (now() < moment)
        if (may_sleep) sched_yield();
}

/* Asks the kernel to end sleeps at once, and not within its usual slack of 50 us. */
static inline void make_sleep_exact(void) { prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }
